// The Vulkan driver: a device that computes on a GPU.
// Thread safety: as hal::Device. Ownership: the device owns its Vulkan objects.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "halyard/driver/device.h"

namespace halyard::vulkandriver {

// Opens the first usable device of Vulkan. The argument --software allows devices that compute on
// the processor. They run the shaders of GPUs with --gpu-shaders. BAD_DATA for another argument.
Result<std::shared_ptr<hal::Device>> makeVulkanDriver(std::span<const std::string> arguments = {});

}  // namespace halyard::vulkandriver
