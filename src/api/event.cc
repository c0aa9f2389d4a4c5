// ANeuralNetworksEvent_*.
#include "api/objects.h"

using namespace halyard;  // NOLINT(google-build-using-namespace): entry points are global
using api::entryPoint;

int ANeuralNetworksEvent_wait(ANeuralNetworksEvent* event) {
  return entryPoint(__func__, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(event);
    return event->impl->wait();
  });
}

void ANeuralNetworksEvent_free(ANeuralNetworksEvent* event) { delete event; }

int ANeuralNetworksEvent_createFromSyncFenceFd(int sync_fence_fd, ANeuralNetworksEvent** event) {
  return entryPoint(__func__, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(event);
    *event = nullptr;
    if (sync_fence_fd <= 0) return badData("file descriptor {} of a sync fence", sync_fence_fd);
    return api::pendingFunction("sync fences");
  });
}

int ANeuralNetworksEvent_getSyncFenceFd(const ANeuralNetworksEvent* event, int* sync_fence_fd) {
  return entryPoint(__func__, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(sync_fence_fd);
    *sync_fence_fd = -1;
    HALYARD_RETURN_IF_NULL(event);
    return badData("the event has no sync fence");
  });
}
