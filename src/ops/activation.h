// Fused activations: the FuseCode operand of an operation, and its clamp range for results.
// Thread safety: pure functions.
// Ownership: none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "halyard/driver/status.h"
#include "ops/operation.h"
#include "ops/requantize.h"

namespace halyard::ops {

// Values are the ANEURALNETWORKS_FUSED_* codes.
enum class FuseCode : int32_t { NONE = 0, RELU = 1, RELU1 = 2, RELU6 = 3 };

// Reads scalar input i as a FuseCode. Returns OP_FAILED for any other code, INCOMPLETE when it is
// not known.
inline Status readFuseCode(const OperationContext& context, size_t i, FuseCode* code) {
  int32_t value = 0;
  HALYARD_RETURN_IF_ERROR(context.read(i, &value), "activation");
  if (value < 0 || value > 3) {
    return opFailed("activation is {}, expected 0 (none), 1 (relu), 2 (relu1) or 3 (relu6)", value);
  }
  *code = static_cast<FuseCode>(value);
  return okStatus();
}

// For float results: act(x) = clampTo(x, activationRange(code)).
inline ClampRange<float> activationRange(FuseCode code) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  switch (code) {
    case FuseCode::NONE:
      return {-kInfinity, kInfinity};
    case FuseCode::RELU:
      return {0.0f, kInfinity};
    case FuseCode::RELU1:
      return {-1.0f, 1.0f};
    case FuseCode::RELU6:
      return {0.0f, 6.0f};
  }
  return {-kInfinity, kInfinity};
}

// Keeps NaN.
inline float clampTo(float x, ClampRange<float> range) {
  x = x < range.min ? range.min : x;
  return x > range.max ? range.max : x;
}

// Returns the bounds of the stored value for quantised results, within the range of `type`. Real
// values are scale * (q - zeroPoint).
inline ClampRange<int32_t> activationRange(FuseCode code, OperandType type, float scale,
                                           int32_t zeroPoint) {
  const ClampRange<int32_t> all = quantizedRange(type);
  const auto stored = [&](float real) {
    return quantizeUnits(static_cast<double>(real / scale), zeroPoint, all);
  };
  switch (code) {
    case FuseCode::NONE:
      return all;
    case FuseCode::RELU:
      return {std::max(all.min, zeroPoint), all.max};
    case FuseCode::RELU1:
      return {stored(-1.0f), stored(1.0f)};
    case FuseCode::RELU6:
      return {std::max(all.min, zeroPoint), stored(6.0f)};
  }
  return all;
}
inline ClampRange<int32_t> activationRange(FuseCode code, const Tensor& output) {
  return activationRange(code, output.type, output.scale, output.zeroPoint);
}

}  // namespace halyard::ops
