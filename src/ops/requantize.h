// Rounding and saturation of 8-bit and 16-bit results (clampT and rha of the operations'
// definitions).
// Thread safety: pure functions.
// Ownership: none.
#pragma once

#include <cmath>
#include <cstdint>

#include "halyard/driver/nnapi_types.h"
#include "ops/operation.h"

namespace halyard::ops {

// An inclusive range for clamping.
template <typename T>
struct ClampRange {
  T min;
  T max;
};

// Returns the range of a quantised operand's storage type. `type` must be one of the asymmetric or
// symmetric 8-bit and 16-bit types.
inline ClampRange<int32_t> quantizedRange(OperandType type) {
  switch (type) {
    case OperandType::TENSOR_QUANT8_ASYMM:
      return {0, 255};
    case OperandType::TENSOR_QUANT16_ASYMM:
      return {0, 65535};
    case OperandType::TENSOR_QUANT16_SYMM:
      return {-32768, 32767};
    default:
      return {-128, 127};
  }
}

// Rounds to nearest, ties away from zero, for |x| < 2^51. Unlike std::round it needs no library
// call, so loops over it vectorise. The constant is the largest double below one half. With 0.5
// itself, the number before 0.5 would round up to 1.
inline double roundHalfAway(double x) {
  const double adjusted = x + std::copysign(0x1.fffffffffffffp-2, x);
  return static_cast<double>(static_cast<int64_t>(adjusted));
}

// clamp(zeroPoint + rha(units)): `units` is a real value divided by the output's scale. Any double
// is legal; NaN gives range.min.
inline int32_t quantizeUnits(double units, int32_t zeroPoint, ClampRange<int32_t> range) {
  // The bounds are integers, so clamping first gives the same result and keeps the conversion in
  // range.
  const double low = static_cast<double>(range.min - zeroPoint);
  const double high = static_cast<double>(range.max - zeroPoint);
  double limited = units > low ? units : low;
  limited = limited < high ? limited : high;
  const double adjusted = limited + std::copysign(0x1.fffffffffffffp-2, limited);
  return static_cast<int32_t>(adjusted) + zeroPoint;
}

// clamp(rha(q's real value / to.scale + to.zeroPoint)), from q as stored in `from` to the result as
// stored in `to`. The identity when both have the same type, scale and zero point.
inline int32_t requantize(int32_t q, const Tensor& from, const Tensor& to) {
  const double units = static_cast<double>(q - from.zeroPoint) * static_cast<double>(from.scale) /
                       static_cast<double>(to.scale);
  return quantizeUnits(units + to.zeroPoint, 0, quantizedRange(to.type));
}

}  // namespace halyard::ops
