// Entry points ANeuralNetworksEvent_*.
#include <fcntl.h>

#include <cerrno>

#include "api/objects.h"

using namespace halyard;  // NOLINT(google-build-using-namespace): entry points are global
using api::entryPoint;

int ANeuralNetworksEvent_wait(ANeuralNetworksEvent* event) {
  return entryPoint(__func__, trace::Phase::EXECUTION, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(event);
    return event->impl->wait();
  });
}

void ANeuralNetworksEvent_free(ANeuralNetworksEvent* event) {
  const trace::Scope mark(trace::Layer::RUNTIME, trace::Phase::EXECUTION, __func__);
  api::freeObject(event);
}

int ANeuralNetworksEvent_createFromSyncFenceFd(int sync_fence_fd, ANeuralNetworksEvent** event) {
  return entryPoint(__func__, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(event);
    *event = nullptr;
    if (sync_fence_fd <= 0) return badData("file descriptor {} of a sync fence", sync_fence_fd);
    auto result = std::make_unique<ANeuralNetworksEvent>();
    HALYARD_ASSIGN_OR_RETURN(result->impl, runtime::Event::fromFence(sync_fence_fd));
    *event = result.release();
    return okStatus();
  });
}

int ANeuralNetworksEvent_getSyncFenceFd(const ANeuralNetworksEvent* event, int* sync_fence_fd) {
  return entryPoint(__func__, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(sync_fence_fd);
    *sync_fence_fd = -1;
    HALYARD_RETURN_IF_NULL(event);
    if (event->impl->fence() < 0) return badData("the event has no sync fence");
    *sync_fence_fd = ::fcntl(event->impl->fence(), F_DUPFD_CLOEXEC, 0);
    if (*sync_fence_fd >= 0) return okStatus();
    return errnoStatus(halyard::ResultCode::OUT_OF_MEMORY, errno,
                       "duplicating the event's sync fence");
  });
}
