// The speed of a device, from two small models, and predictions for operations from it.
// Thread safety: pure functions. Ownership: none.
#pragma once

#include <memory>

#include "device/vulkan_device.h"
#include "halyard/driver/model.h"

namespace halyard::vulkandriver {

// In nanoseconds.
struct DeviceSpeed {
  double submission = 0;  // of an execution without work
  double product = 0;     // a multiplication with its addition
  double byte = 0;        // read or written
};

// Runs the models, which take some milliseconds each.
Result<DeviceSpeed> measureSpeed(const std::shared_ptr<VulkanDevice>& device);

// The predicted nanoseconds of an operation of `subgraph`, whose shapes are known.
double predictedTime(const Subgraph& subgraph, const Operation& operation,
                     const DeviceSpeed& speed);

}  // namespace halyard::vulkandriver
