// Which inputs and outputs of steps an input or output of a whole model is.
// Thread safety: pure function. Ownership: results own their tables.
#pragma once

#include <compare>
#include <vector>

#include "runtime/partition/plan.h"

namespace halyard::runtime {

struct StepRole {
  uint32_t step = 0;
  bool isInput = false;
  uint32_t index = 0;  // among the inputs or outputs of the step's model
  auto operator<=>(const StepRole&) const = default;  // NOLINT(modernize-use-nullptr)
};

// Those of input or output `index` of the model, in ascending order. An output that later steps
// read is their input as well. Values that IF and WHILE, run by the runtime, hand to and from their
// subgraphs are followed there; what the body of a loop writes is what its condition, and the body
// itself, read.
std::vector<StepRole> rolesOf(const Model& model, const Plan& plan, bool isInput, uint32_t index);

}  // namespace halyard::runtime
