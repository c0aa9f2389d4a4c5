// Turns the operations of a model into a Recording, or into reasons.
// Thread safety: pure functions. Ownership: none.
#pragma once

#include <memory>
#include <vector>

#include "halyard/driver/device.h"
#include "kernels/recording.h"

namespace halyard::vulkandriver {

// For each operation of the main subgraph OK, or why the device does not take it. `mostBytes`: the
// largest memory of a prepared model. The dispatches of supported operations are in `recording`.
std::vector<Status> recordModel(const Model& model, uint64_t mostBytes, Recording& recording);

}  // namespace halyard::vulkandriver
