// Writes a model as an input of the API fuzzer: the calls that build, compile and run it.
// Thread safety: pure functions. Ownership: the caller owns the result.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "halyard/driver/model.h"

namespace halyard::api::fuzz {

// `inputs` are the values of the model's inputs in their order. An omitted input is empty. `way` is
// the call that runs the model: 0 compute, 1 startCompute, 3 with dependencies.
// nullopt for a model that the input format cannot express:
// - more than 200 operands, referenced models, memory pools or extensions
// - per-channel scales that are not multiples of 1/64
std::optional<std::vector<uint8_t>> sequenceOf(const Model& model,
                                               std::span<const std::vector<uint8_t>> inputs,
                                               uint8_t way);

}  // namespace halyard::api::fuzz
