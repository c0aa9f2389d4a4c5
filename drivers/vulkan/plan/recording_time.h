// The measured time of a recording, for the speed of the device and for benchmarks.
// Thread safety: pure functions. Ownership: none.
#pragma once

#include <chrono>
#include <memory>

#include "device/vulkan_device.h"
#include "halyard/driver/model.h"
#include "kernels/recording.h"

namespace halyard::vulkandriver {

// The best time on the device of `rounds` executions, in nanoseconds, with arguments of zeros. An
// execution before them compiles, and does not count. `pause` is before each. There are fewer
// rounds if they take longer than a second.
Result<double> bestTime(const std::shared_ptr<VulkanDevice>& device,
                        const std::shared_ptr<const Model>& model, const Recording& recording,
                        int rounds, std::chrono::milliseconds pause = {});

}  // namespace halyard::vulkandriver
