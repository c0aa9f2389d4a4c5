// The fixed quantisation of 8-bit results in a fixed range: [0, 1] for LOGISTIC and SOFTMAX, [-1,
// 1] for TANH and L2_NORMALIZATION.
// Thread safety: pure functions.
// Ownership: none.
#pragma once

#include "halyard/driver/status.h"
#include "ops/operation.h"

namespace halyard::ops {

// The scale is 1/256; the zero point is the lowest stored value of the type.
inline constexpr float kUnitRangeScale = 1.0f / 256;
inline int32_t unitRangeZeroPoint(OperandType type) {
  return type == OperandType::TENSOR_QUANT8_ASYMM ? 0 : -128;
}

// Half that resolution; the zero point is the middle of the type's stored values.
inline constexpr float kSignedUnitRangeScale = 1.0f / 128;
inline int32_t signedUnitRangeZeroPoint(OperandType type) {
  return type == OperandType::TENSOR_QUANT8_ASYMM ? 128 : 0;
}

// Returns OP_FAILED unless a quantised output has these parameters. A model may declare others,
// because only the computation needs them.
inline Status checkRangeParameters(const Tensor& output, float scale, int32_t zeroPoint) {
  if (!isQuant8Asymm(output.type)) return okStatus();
  if (output.scale == scale && output.zeroPoint == zeroPoint) return okStatus();
  return opFailed("output has scale {} and zero point {}, expected 1/{} and {}", output.scale,
                  output.zeroPoint, 1 / scale, zeroPoint);
}
inline Status checkUnitRange(const Tensor& output) {
  return checkRangeParameters(output, kUnitRangeScale, unitRangeZeroPoint(output.type));
}
inline Status checkSignedUnitRange(const Tensor& output) {
  return checkRangeParameters(output, kSignedUnitRangeScale, signedUnitRangeZeroPoint(output.type));
}

}  // namespace halyard::ops
