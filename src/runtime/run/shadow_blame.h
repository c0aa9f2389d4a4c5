// Which devices of a plan compute a step otherwise than the CPU device, with the same inputs.
// Thread safety: pure functions; steps are executed on their devices. Ownership: none.
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

// Runs step after step of the plan, on `cpu` for the values and on its own device for the
// comparison, which follows the criteria for the step's size. `inputs`: of the main subgraph.
// OP_FAILED when that does not tell: values of unknown size, control flow that is run by the
// runtime, errors.
Result<std::vector<const Device*>> findGuilty(const Plan& plan, const Model& model,
                                              std::span<const ShadowValue> inputs,
                                              hal::Device& cpu);

// The request for values in this process's memory: `outputs` have room for what they hold.
hal::Request requestFor(std::span<const ShadowValue> inputs, std::span<ShadowValue> outputs);

}  // namespace halyard::runtime
