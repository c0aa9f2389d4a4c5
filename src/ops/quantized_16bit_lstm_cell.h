// QUANTIZED_16BIT_LSTM's cell in fixed point, without the products of its weights and the functions
// of its gates.
// Thread safety: pure functions.
// Ownership: none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "ops/fixed_point.h"
#include "ops/quantized_gates.h"

namespace halyard::ops::quantized_16bit_lstm {

// The positions of the operation's inputs. Weights and biases come in groups of four, in the order
// of Gate. The outputs are the cell state and the hidden values.
enum Input : size_t {
  kX = 0,
  kInputWeights = 1,
  kRecurrentWeights = 5,
  kBias = 9,
  kCellState = 13,
  kHidden = 14,
};

inline constexpr int32_t kValueZeroPoint = 128;  // of the input and of hidden values
// The gates and their functions take Q3.12 and return Q0.15. The state is in Q4.11.
inline constexpr int kIntegerBits = 3;

// Converts sums of products, in units of the biases' scale, to the gates' input. As a double, the
// scale times 2^12 is exact and finite.
inline FixedMultiplier gateMultiplier(float biasScale) {
  return toFixedMultiplier(static_cast<double>(biasScale) * 4096);
}
inline int16_t gateInput(int32_t bias, int32_t sum, FixedMultiplier multiplier) {
  return saturate16(multiplyByFixed(addWrapping(bias, sum), multiplier));
}

// Computes the state from three gates and the previous state.
inline int16_t nextState(int16_t input, int16_t forget, int16_t candidate, int16_t before) {
  const int64_t added = shiftRightRounding(multiplyHigh16(input, candidate), 4);
  return saturate16(added + multiplyHigh16(forget, before));
}

// Returns the argument of the hyperbolic tangent.
inline int16_t tangentInput(int16_t state) { return static_cast<int16_t>(scaleUp16(state, 1)); }

// Computes the hidden value from the output gate and the tangent.
inline uint8_t hiddenValue(int16_t output, int16_t tangent) {
  const int64_t units = shiftRightRounding(multiplyHigh16(output, tangent), 8);
  return static_cast<uint8_t>(std::clamp<int64_t>(units, -128, 127) + kValueZeroPoint);
}

}  // namespace halyard::ops::quantized_16bit_lstm
