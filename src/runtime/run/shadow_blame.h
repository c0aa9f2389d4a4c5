// Finds the devices of a plan whose results of a step differ from those of the CPU device for the
// same inputs.
// Thread safety: pure functions. They execute steps on the devices. Ownership: none.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/partition/plan.h"

namespace halyard::runtime {

// A value of the main subgraph.
struct ShadowValue {
  bool omitted = false;
  std::vector<uint8_t> bytes;
  Shape dims;
};

// Executes each step of the plan on `cpu` and on its own device, and compares the results. The
// results of `cpu` are the inputs of later steps. The criteria follow from the size of the step.
// `inputs` are those of the main subgraph.
// OP_FAILED for values of unknown size, for control flow that the runtime executes, and for errors.
Result<std::vector<const Device*>> findGuilty(const Plan& plan, const Model& model,
                                              std::span<const ShadowValue> inputs,
                                              hal::Device& cpu);

// The request for values in the memory of this process. `outputs` must have room for the results.
hal::Request requestFor(std::span<const ShadowValue> inputs, std::span<ShadowValue> outputs);

}  // namespace halyard::runtime
