// Writes a model as an input of the API fuzzer: the calls that build, compile and run it.
// Thread safety: pure functions.
// Ownership: values.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "halyard/driver/model.h"

namespace halyard::api::fuzz {

// `inputs`: the values of the model's inputs in their order; omitted ones are empty. `way` is the
// way to run it: 0 compute, 1 startCompute, 3 with dependencies. Empty for models that the fuzzer's
// language cannot express. These have more than 200 operands, referenced models, memory pools,
// extensions, or scales per channel that are not multiples of 1/64.
std::optional<std::vector<uint8_t>> sequenceOf(const Model& model,
                                               std::span<const std::vector<uint8_t>> inputs,
                                               uint8_t way);

}  // namespace halyard::api::fuzz
