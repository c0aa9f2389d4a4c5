// The one quantisation that 8 bit results in a fixed range have: [0, 1] for LOGISTIC and SOFTMAX,
// [-1, 1] for TANH and L2_NORMALIZATION.
// Thread safety: pure functions.
// Ownership: none.
#pragma once

#include "halyard/driver/status.h"
#include "ops/signature.h"

namespace halyard::ops {

// The scale is 1/256; the zero point is the lowest value that the type stores.
inline constexpr float kUnitRangeScale = 1.0f / 256;
inline int32_t unitRangeZeroPoint(OperandType type) {
  return type == OperandType::TENSOR_QUANT8_ASYMM ? 0 : -128;
}

// Half that resolution; the zero point is the middle of what the type stores.
inline constexpr float kSignedUnitRangeScale = 1.0f / 128;
inline int32_t signedUnitRangeZeroPoint(OperandType type) {
  return type == OperandType::TENSOR_QUANT8_ASYMM ? 128 : 0;
}

// OP_FAILED unless a quantised output has these parameters.
template <typename Output>  // Operand or Tensor
Status checkRangeParameters(const Output& output, float scale, int32_t zeroPoint) {
  if (!isQuant8Asymm(output.type)) return okStatus();
  if (output.scale == scale && output.zeroPoint == zeroPoint) return okStatus();
  return opFailed("output has scale {} and zero point {}, expected 1/{} and {}", output.scale,
                  output.zeroPoint, 1 / scale, zeroPoint);
}
template <typename Output>
Status checkUnitRange(const Output& output) {
  return checkRangeParameters(output, kUnitRangeScale, unitRangeZeroPoint(output.type));
}
template <typename Output>
Status checkSignedUnitRange(const Output& output) {
  return checkRangeParameters(output, kSignedUnitRangeScale, signedUnitRangeZeroPoint(output.type));
}

// For Signature::check: the same as BAD_DATA.
inline Status checkUnitRangeOutput(const OperationView& operation, FeatureLevel&) {
  return checkUnitRange(operation.output(0)).withCode(ResultCode::BAD_DATA);
}
inline Status checkSignedUnitRangeOutput(const OperationView& operation, FeatureLevel&) {
  return checkSignedUnitRange(operation.output(0)).withCode(ResultCode::BAD_DATA);
}

}  // namespace halyard::ops
