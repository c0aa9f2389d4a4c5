// Fixed-point arithmetic of the quantised LSTMs, defined to the bit. Qm.n is an integer divided by
// 2^n. All functions are defined for every argument. An exact result that does not fit becomes the
// nearest value that does.
// Thread safety: pure functions.
// Ownership: none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace halyard::ops {

template <typename T>
constexpr T saturateTo(int64_t x) {
  return static_cast<T>(
      std::clamp<int64_t>(x, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}
constexpr int16_t saturate16(int64_t x) { return saturateTo<int16_t>(x); }
constexpr int32_t saturate32(int64_t x) { return saturateTo<int32_t>(x); }

// floor(a b / 2^15 + 1/2) of values in the range of int16, and floor(a b / 2^31 + 1/2).
constexpr int32_t multiplyHigh16(int32_t a, int32_t b) {
  const int64_t product = int64_t{a} * b;
  return static_cast<int32_t>(std::min<int64_t>((product + (1 << 14)) >> 15, 32767));
}
constexpr int32_t multiplyHigh32(int32_t a, int32_t b) {
  const int64_t product = int64_t{a} * b;
  return saturate32((product + (int64_t{1} << 30)) >> 31);
}

// x / 2^exponent to nearest, ties away from zero. |x| <= 2^62; exponents below 1 give x.
constexpr int64_t shiftRightRounding(int64_t x, int exponent) {
  if (exponent <= 0) return x;
  if (exponent > 62) return 0;  // |x| / 2^63 is at most one half, and exactly that only for 2^62
  const int64_t magnitude = x < 0 ? -x : x;
  const int64_t rounded = (magnitude + (int64_t{1} << (exponent - 1))) >> exponent;
  return x < 0 ? -rounded : rounded;
}

// x 2^n, saturated to int16. 0 <= n < 32.
constexpr int32_t scaleUp16(int32_t x, int n) { return saturate16(int64_t{x} * (int64_t{1} << n)); }

// A positive real number: significand * 2^(exponent - 31), with 2^30 <= significand < 2^31. Both
// are 0 for numbers below 2^-32.
struct FixedMultiplier {
  int32_t significand = 0;
  int exponent = 0;
};
// `real` must be finite. Numbers up to 0 give 0.
FixedMultiplier toFixedMultiplier(double real);

// Returns about x times the multiplier. A positive exponent first scales x up (saturating). The
// result is rounded twice.
int32_t multiplyByFixed(int32_t x, FixedMultiplier multiplier);

// 1 / sqrt(v), for v >= 0; values below 1 count as 1.
FixedMultiplier inverseSqrt(int32_t v);

// The logistic function and the hyperbolic tangent of a value in Q(integerBits).(15 - integerBits),
// as Q0.15. 0 <= integerBits <= 6. The errors are below 8 and 13 units.
int16_t sigmoidFixed(int16_t x, int integerBits);
int16_t tanhFixed(int16_t x, int integerBits);
// The same for many values; `from` and `to` may be the same.
void sigmoidsFixed(const int16_t* from, int16_t* to, size_t count, int integerBits);
void tanhsFixed(const int16_t* from, int16_t* to, size_t count, int integerBits);

}  // namespace halyard::ops
