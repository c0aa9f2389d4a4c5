// The Vulkan driver: a device that computes on a GPU.
// Thread safety: as hal::Device. Ownership: the device owns its Vulkan objects.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "halyard/driver/device.h"

namespace halyard::vulkandriver {

class VulkanDevice;

struct DriverSettings {
  // The measured figures of the device; absent: the driver predicts times of operations.
  std::optional<hal::Capabilities> capabilities = {};
  // Whether it measures the device's speed, for that and to divide long models.
  bool measuresSpeed = true;
  // Whether models are saved in files; absent: if Vulkan's code can be saved.
  std::optional<bool> saves = {};
  // Of the stores for saved models and for the measured speed; empty: those of the user.
  std::filesystem::path cacheFolder = {};
};

// The driver of a device of Vulkan, for these arguments:
//   --device NAME        the device with this name of Vulkan's or of the driver's, or this UUID.
//                        Without it, the first usable device.
//   --software           devices that compute on the processor count too
//   --gpu-shaders        these devices run the shaders of GPUs; for tests
//   --gpu-arithmetic     the same, with all arithmetic that the device has; for tests
//   --capabilities FILE  the figures of `halyard bench --capabilities --json FILE`
// BAD_DATA for others. UNAVAILABLE_DEVICE with the reasons without a usable device. `onLost` is
// called once, on any thread, when the device is lost: this driver then computes nothing more.
Result<std::shared_ptr<hal::Device>> makeVulkanDriver(
    std::span<const std::string> arguments = {},
    const std::function<void(const Status&)>& onLost = {});
// The driver of an open device.
std::shared_ptr<hal::Device> makeVulkanDriverOn(std::shared_ptr<VulkanDevice> device,
                                                const DriverSettings& settings = {});

}  // namespace halyard::vulkandriver
