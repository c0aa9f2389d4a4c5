// Finds the inputs and outputs of steps that correspond to an input or output of the whole model.
// Thread safety: pure function.
// Ownership: results own their tables.
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

// Returns the step roles of input or output `index` of the model, in ascending order. An output
// that later steps read is also their input. The search follows values into and out of the
// subgraphs of an IF or WHILE that the runtime runs. A loop's condition and body read the values
// that its body writes.
std::vector<StepRole> rolesOf(const Model& model, const Plan& plan, bool isInput, uint32_t index);

}  // namespace halyard::runtime
