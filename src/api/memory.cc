// Entry points ANeuralNetworksMemory_*, except those for memory from descriptors (memory_desc.cc).
#include "api/objects.h"

using namespace halyard;  // NOLINT(google-build-using-namespace): entry points are global
using api::entryPoint;

int ANeuralNetworksMemory_createFromFd(size_t size, int protect, int fd, size_t offset,
                                       ANeuralNetworksMemory** memory) {
  return entryPoint(__func__, trace::Phase::PREPARATION, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(memory);
    *memory = nullptr;
    HALYARD_ASSIGN_OR_RETURN(auto impl, runtime::Memory::createFromFd(size, protect, fd, offset));
    *memory = new ANeuralNetworksMemory{std::move(impl)};
    return okStatus();
  });
}

int ANeuralNetworksMemory_copy(const ANeuralNetworksMemory* src, const ANeuralNetworksMemory* dst) {
  return entryPoint(__func__, trace::Phase::EXECUTION, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(src);
    HALYARD_RETURN_IF_NULL(dst);
    return runtime::Memory::copy(*src->impl, *dst->impl);
  });
}

void ANeuralNetworksMemory_free(ANeuralNetworksMemory* memory) {
  const trace::Scope mark(trace::Layer::RUNTIME, trace::Phase::TERMINATION, __func__);
  api::freeObject(memory);
}
