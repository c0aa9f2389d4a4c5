// Activations of the recurrent operations: the FuseCodes, tanh and sigmoid.
// Thread safety: pure functions.
// Ownership: none.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "halyard/driver/status.h"
#include "ops/activation.h"
#include "ops/operation.h"

namespace halyard::ops {

enum class RecurrentActivation : int32_t {
  NONE = 0,
  RELU = 1,
  RELU1 = 2,
  RELU6 = 3,
  TANH = 4,
  SIGMOID = 6,
};

// Reads scalar input i. Returns OP_FAILED for any other code, INCOMPLETE when it is not known.
inline Status readRecurrentActivation(const OperationContext& context, size_t i,
                                      RecurrentActivation* activation) {
  int32_t code = 0;
  HALYARD_RETURN_IF_ERROR(context.read(i, &code), "activation");
  if (code < 0 || code > 6 || code == 5) {
    return opFailed(
        "input {} (activation) is {}, expected 0 (none), 1 (relu), 2 (relu1), 3 (relu6), 4 (tanh) "
        "or 6 (sigmoid)",
        i, code);
  }
  *activation = static_cast<RecurrentActivation>(code);
  return okStatus();
}

inline float logisticSigmoid(float x) { return 1 / (1 + std::exp(-x)); }

// values[i] = act(values[i]).
inline void activate(RecurrentActivation activation, float* values, size_t count) {
  if (activation == RecurrentActivation::TANH) {
    for (size_t i = 0; i < count; ++i) values[i] = std::tanh(values[i]);
  } else if (activation == RecurrentActivation::SIGMOID) {
    for (size_t i = 0; i < count; ++i) values[i] = logisticSigmoid(values[i]);
  } else if (activation != RecurrentActivation::NONE) {
    const auto range = activationRange(static_cast<FuseCode>(activation));
    for (size_t i = 0; i < count; ++i) values[i] = clampTo(values[i], range);
  }
}

}  // namespace halyard::ops
