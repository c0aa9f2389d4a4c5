// The one quantisation that 8 bit results in [0, 1] have: LOGISTIC and SOFTMAX.
// Thread safety: pure functions.
// Ownership: none.
#pragma once

#include "base/status.h"
#include "ops/signature.h"

namespace halyard::ops {

// The scale is 1/256; the zero point is the lowest value that the type stores.
inline constexpr float kUnitRangeScale = 1.0f / 256;
inline int32_t unitRangeZeroPoint(OperandType type) {
  return type == OperandType::TENSOR_QUANT8_ASYMM ? 0 : -128;
}

// OP_FAILED unless a quantised output has these parameters.
template <typename Output>  // Operand or Tensor
Status checkUnitRange(const Output& output) {
  if (!isQuant8Asymm(output.type)) return okStatus();
  const int32_t zeroPoint = unitRangeZeroPoint(output.type);
  if (output.scale == kUnitRangeScale && output.zeroPoint == zeroPoint) return okStatus();
  return opFailed("output has scale {} and zero point {}, expected 1/256 and {}", output.scale,
                  output.zeroPoint, zeroPoint);
}

// For Signature::check: the same as BAD_DATA.
inline Status checkUnitRangeOutput(const OperationView& operation, FeatureLevel&) {
  return checkUnitRange(operation.output(0)).withCode(ResultCode::BAD_DATA);
}

}  // namespace halyard::ops
