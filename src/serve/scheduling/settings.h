// The settings of a served model: the values of its config.json, or their defaults.
// Thread safety: plain data. Ownership: owns its data.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace halyard::serve {

// Executions of the same compilation that run at once.
struct InstanceGroup {
  std::vector<std::string> devices;  // names as for `halyard run --device`; empty: all devices
  uint32_t count = 1;
};

struct ModelSettings {
  // The largest batch. 0: no batching, the first dimension is like any other.
  uint32_t maxBatch = 0;
  // How long a request waits for others of its batch.
  std::chrono::microseconds queueDelay{0};
  // Requests beyond this many waiting ones are refused.
  uint32_t queueLimit = 256;
  std::vector<InstanceGroup> instances = {InstanceGroup()};
  // ANEURALNETWORKS_PREFER_..., ANEURALNETWORKS_PRIORITY_...
  std::optional<int32_t> preference;
  std::optional<int32_t> priority;
  // Float32 may be computed with the range and precision of float16.
  bool allowFloat16 = false;
  // The deadline of requests that name none.
  std::optional<std::chrono::microseconds> defaultTimeout;
  // The names of classes, for the parameter `classification`.
  std::vector<std::string> labels;
};

}  // namespace halyard::serve
