// Entry points ANeuralNetworksMemoryDesc_*, and ANeuralNetworksMemory_createFromDesc.
#include "api/objects.h"

using namespace halyard;  // NOLINT(google-build-using-namespace): entry points are global
using api::entryPoint;

int ANeuralNetworksMemoryDesc_create(ANeuralNetworksMemoryDesc** desc) {
  return entryPoint(__func__, trace::Phase::COMPILATION, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(desc);
    *desc = nullptr;
    *desc = new ANeuralNetworksMemoryDesc;
    return okStatus();
  });
}

void ANeuralNetworksMemoryDesc_free(ANeuralNetworksMemoryDesc* desc) {
  const trace::Scope mark(trace::Layer::RUNTIME, trace::Phase::TERMINATION, __func__);
  api::freeObject(desc);
}

int ANeuralNetworksMemoryDesc_addInputRole(ANeuralNetworksMemoryDesc* desc,
                                           const ANeuralNetworksCompilation* compilation,
                                           uint32_t index, float frequency) {
  return entryPoint(__func__, trace::Phase::COMPILATION, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(desc);
    HALYARD_RETURN_IF_NULL(compilation);
    return desc->impl.addRole(*compilation->impl, true, index, frequency);
  });
}

int ANeuralNetworksMemoryDesc_addOutputRole(ANeuralNetworksMemoryDesc* desc,
                                            const ANeuralNetworksCompilation* compilation,
                                            uint32_t index, float frequency) {
  return entryPoint(__func__, trace::Phase::COMPILATION, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(desc);
    HALYARD_RETURN_IF_NULL(compilation);
    return desc->impl.addRole(*compilation->impl, false, index, frequency);
  });
}

int ANeuralNetworksMemoryDesc_setDimensions(ANeuralNetworksMemoryDesc* desc, uint32_t rank,
                                            const uint32_t* dimensions) {
  return entryPoint(__func__, trace::Phase::COMPILATION, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(desc);
    if (dimensions == nullptr && rank > 0) {
      return unexpectedNull("dimensions is null, rank {}", rank);
    }
    return desc->impl.setDimensions(rank == 0 ? Shape() : Shape(dimensions, dimensions + rank));
  });
}

int ANeuralNetworksMemoryDesc_finish(ANeuralNetworksMemoryDesc* desc) {
  return entryPoint(__func__, trace::Phase::COMPILATION, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(desc);
    return desc->impl.finish();
  });
}

int ANeuralNetworksMemory_createFromDesc(const ANeuralNetworksMemoryDesc* desc,
                                         ANeuralNetworksMemory** memory) {
  return entryPoint(__func__, trace::Phase::COMPILATION, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(memory);
    *memory = nullptr;
    HALYARD_RETURN_IF_NULL(desc);
    HALYARD_ASSIGN_OR_RETURN(auto impl, desc->impl.createMemory());
    *memory = new ANeuralNetworksMemory{std::move(impl)};
    return okStatus();
  });
}
