// The entry point ANeuralNetworksMemory_createFromAHardwareBuffer.
#include <halyard/hardware_buffer.h>

#include "api/objects.h"

using namespace halyard;  // NOLINT(google-build-using-namespace): entry points are global
using api::entryPoint;

int ANeuralNetworksMemory_createFromAHardwareBuffer(const AHardwareBuffer* ahwb,
                                                    ANeuralNetworksMemory** memory) {
  return entryPoint(__func__, trace::Phase::PREPARATION, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(memory);
    *memory = nullptr;
    HALYARD_RETURN_IF_NULL(ahwb);
    AHardwareBuffer_Desc desc{};
    AHardwareBuffer_describe(ahwb, &desc);
    const HardwareBufferDescription description{desc.width,  desc.height, desc.layers,
                                                desc.format, desc.usage,  desc.stride};
    HALYARD_ASSIGN_OR_RETURN(auto impl, runtime::Memory::createFromHardwareBuffer(
                                            description, halyard_hardwareBufferFd(ahwb)));
    *memory = new ANeuralNetworksMemory{std::move(impl)};
    return okStatus();
  });
}
