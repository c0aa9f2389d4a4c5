// QUANTIZED_16BIT_LSTM's cell in fixed point, apart from the products of its weights and the
// functions of its gates. Thread safety: pure functions. Ownership: none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "ops/fixed_point.h"
#include "ops/quantized_gates.h"

namespace halyard::ops::quantized_16bit_lstm {

// Where the operation's inputs are; weights and biases in fours, in the order of Gate. Its outputs
// are the cell state and the hidden values.
enum Input : size_t {
  kX = 0,
  kInputWeights = 1,
  kRecurrentWeights = 5,
  kBias = 9,
  kCellState = 13,
  kHidden = 14,
};

inline constexpr int32_t kValueZeroPoint = 128;  // of the input and of hidden values
// Of what enters the gates and their functions, Q3.12; what leaves them is in Q0.15. The state is
// in Q4.11.
inline constexpr int kIntegerBits = 3;

// Takes sums of products, whose unit is the biases' scale, to what enters the gates. As a double,
// the scale times 2^12 is exact and finite.
inline FixedMultiplier gateMultiplier(float biasScale) {
  return toFixedMultiplier(static_cast<double>(biasScale) * 4096);
}
inline int16_t gateInput(int32_t bias, int32_t sum, FixedMultiplier multiplier) {
  return saturate16(multiplyByFixed(addWrapping(bias, sum), multiplier));
}

// Of three gates and the state before.
inline int16_t nextState(int16_t input, int16_t forget, int16_t candidate, int16_t before) {
  const int64_t added = shiftRightRounding(multiplyHigh16(input, candidate), 4);
  return saturate16(added + multiplyHigh16(forget, before));
}

// What the hyperbolic tangent is taken of.
inline int16_t tangentInput(int16_t state) { return static_cast<int16_t>(scaleUp16(state, 1)); }

// Of the output gate and the tangent.
inline uint8_t hiddenValue(int16_t output, int16_t tangent) {
  const int64_t units = shiftRightRounding(multiplyHigh16(output, tangent), 8);
  return static_cast<uint8_t>(std::clamp<int64_t>(units, -128, 127) + kValueZeroPoint);
}

}  // namespace halyard::ops::quantized_16bit_lstm
