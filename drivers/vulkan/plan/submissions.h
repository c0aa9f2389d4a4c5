// Submissions: where the dispatches of a model are divided. The driver looks at deadlines and at
// models of higher priority between two submissions.
// Thread safety: pure functions. Ownership: none.
#pragma once

#include <optional>
#include <vector>

#include "halyard/driver/hal_types.h"
#include "halyard/driver/model.h"
#include "kernels/recording.h"
#include "plan/device_speed.h"

namespace halyard::vulkandriver {

// How a prepared model shares the device with others.
struct Sharing {
  hal::Priority priority = hal::Priority::MEDIUM;
  // For the predicted times of operations; absent: one submission has the whole model.
  std::optional<DeviceSpeed> speed = {};
};

// The number of dispatches up to the end of each submission. A submission ends as soon as its
// predicted time exceeds kLongestSubmission nanoseconds. There is at least one.
inline constexpr double kLongestSubmission = 20e6;
std::vector<size_t> submissionEnds(const Subgraph& subgraph, const Recording& recording,
                                   const std::optional<DeviceSpeed>& speed);

}  // namespace halyard::vulkandriver
