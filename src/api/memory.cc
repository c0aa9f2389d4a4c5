// ANeuralNetworksMemory_* and ANeuralNetworksMemoryDesc_*.
#include "api/objects.h"

using namespace halyard;  // NOLINT(google-build-using-namespace): entry points are global
using api::entryPoint;

namespace {
constexpr const char* kMemoryDomains = "memory descriptors";
}

int ANeuralNetworksMemory_createFromFd(size_t size, int protect, int fd, size_t offset,
                                       ANeuralNetworksMemory** memory) {
  return entryPoint(__func__, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(memory);
    *memory = nullptr;
    HALYARD_ASSIGN_OR_RETURN(auto impl, runtime::Memory::createFromFd(size, protect, fd, offset));
    *memory = new ANeuralNetworksMemory{std::move(impl)};
    return okStatus();
  });
}

int ANeuralNetworksMemory_createFromDesc(const ANeuralNetworksMemoryDesc* desc,
                                         ANeuralNetworksMemory** memory) {
  return entryPoint(__func__, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(memory);
    *memory = nullptr;
    HALYARD_RETURN_IF_NULL(desc);
    return api::pendingFunction(kMemoryDomains);
  });
}

int ANeuralNetworksMemory_copy(const ANeuralNetworksMemory* src, const ANeuralNetworksMemory* dst) {
  return entryPoint(__func__, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(src);
    HALYARD_RETURN_IF_NULL(dst);
    return runtime::Memory::copy(*src->impl, *dst->impl);
  });
}

void ANeuralNetworksMemory_free(ANeuralNetworksMemory* memory) { delete memory; }

int ANeuralNetworksMemoryDesc_create(ANeuralNetworksMemoryDesc** desc) {
  return entryPoint(__func__, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(desc);
    *desc = nullptr;
    return api::pendingFunction(kMemoryDomains);
  });
}

// There is no descriptor to free: create never succeeds.
void ANeuralNetworksMemoryDesc_free(ANeuralNetworksMemoryDesc*) {}

int ANeuralNetworksMemoryDesc_addInputRole(ANeuralNetworksMemoryDesc* desc,
                                           const ANeuralNetworksCompilation* compilation, uint32_t,
                                           float) {
  return entryPoint(__func__, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(desc);
    HALYARD_RETURN_IF_NULL(compilation);
    return api::pendingFunction(kMemoryDomains);
  });
}

int ANeuralNetworksMemoryDesc_addOutputRole(ANeuralNetworksMemoryDesc* desc,
                                            const ANeuralNetworksCompilation* compilation, uint32_t,
                                            float) {
  return entryPoint(__func__, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(desc);
    HALYARD_RETURN_IF_NULL(compilation);
    return api::pendingFunction(kMemoryDomains);
  });
}

int ANeuralNetworksMemoryDesc_setDimensions(ANeuralNetworksMemoryDesc* desc, uint32_t rank,
                                            const uint32_t* dimensions) {
  return entryPoint(__func__, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(desc);
    if (dimensions == nullptr && rank > 0)
      return unexpectedNull("dimensions is null, rank {}", rank);
    return api::pendingFunction(kMemoryDomains);
  });
}

int ANeuralNetworksMemoryDesc_finish(ANeuralNetworksMemoryDesc* desc) {
  return entryPoint(__func__, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(desc);
    return api::pendingFunction(kMemoryDomains);
  });
}
