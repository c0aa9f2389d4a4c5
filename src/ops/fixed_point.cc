// Fixed-point exponential, reciprocal and inverse square root, by polynomials and Newton's method.
#include "ops/fixed_point.h"

#include <bit>
#include <cmath>

namespace halyard::ops {
namespace {

constexpr int32_t kOne15 = 32767;  // 1 in Q0.15, as near as it gets

// exp(a / 2^15) for -8192 <= a < 0 in Q0.15, by the series around -1/8.
int32_t expOfQuarter(int32_t a) {
  constexpr int32_t kExpOfMinusEighth = 28918;
  constexpr int32_t kThird = 10923;
  const int32_t x = a + 4096;
  const int32_t x2 = multiplyHigh16(x, x);
  const int32_t x3 = multiplyHigh16(x2, x);
  const int32_t x4 = multiplyHigh16(x2, x2);
  const auto quarter4 = static_cast<int32_t>(shiftRightRounding(x4, 2));
  const auto rest = static_cast<int32_t>(
      shiftRightRounding(multiplyHigh16(quarter4 + x3, kThird) + x2, 1));  // x^2/2 + x^3/6 + x^4/24
  return saturate16(kExpOfMinusEighth + multiplyHigh16(kExpOfMinusEighth, x + rest));
}

// exp of a value <= 0 with that many integer bits (at most 7), in Q0.15: the part above -1/4 by its
// series, and a factor for each higher bit.
int32_t expOfNegative(int32_t a, int integerBits) {
  if (a == 0) return kOne15;
  if (integerBits > 5 && a < -(1 << (20 - integerBits))) return 0;
  const int32_t quarter = 1 << (13 - integerBits);
  const int32_t low = (a & (quarter - 1)) - quarter;
  int32_t result = expOfQuarter(scaleUp16(low, integerBits));
  const int32_t rest = low - a;
  struct Factor {
    int exponent;
    int32_t exp;  // of -2^exponent, in Q0.15
  };
  constexpr Factor kFactors[] = {{-2, 25520}, {-1, 19875}, {0, 12055}, {1, 4435},
                                 {2, 600},    {3, 11},     {4, 0}};
  for (const Factor& factor : kFactors) {
    if (integerBits <= factor.exponent) break;
    const int32_t bit = 1 << (15 - integerBits + factor.exponent);
    if ((rest & bit) != 0) result = multiplyHigh16(result, factor.exp);
  }
  return result;
}

// 2 / (1 + a) in Q2.13, of a in [0, 1] in Q0.15, by Newton's method.
int32_t reciprocalOfOnePlus(int32_t a) {
  constexpr int32_t kStart = 23130;  // 48/17
  constexpr int32_t kSlope = 15420;  // 32/17, in Q1.13
  const int32_t half = (a + kOne15 + 1) / 2;
  int32_t x = kStart + multiplyHigh16(half, -kSlope);
  for (int i = 0; i < 3; ++i) {
    const int32_t error = 8192 - multiplyHigh16(half, x);
    x += scaleUp16(multiplyHigh16(x, error), 2);
  }
  return x;
}

int32_t negativeMagnitude(int16_t x) { return x < 0 ? x : -x; }

}  // namespace

FixedMultiplier toFixedMultiplier(double real) {
  if (!(real > 0)) return {};
  int exponent = 0;
  const double fraction = std::frexp(real, &exponent);
  auto significand = static_cast<int64_t>(std::round(std::ldexp(fraction, 31)));
  if (significand == int64_t{1} << 31) {
    significand /= 2;
    ++exponent;
  }
  if (exponent < -31) return {};
  return {static_cast<int32_t>(significand), exponent};
}

int32_t multiplyByFixed(int32_t x, FixedMultiplier multiplier) {
  const int left = std::clamp(multiplier.exponent, 0, 31);
  const int32_t scaled = saturate32(int64_t{x} * (int64_t{1} << left));
  return static_cast<int32_t>(shiftRightRounding(multiplyHigh32(scaled, multiplier.significand),
                                                 -std::min(multiplier.exponent, 0)));
}

FixedMultiplier inverseSqrt(int32_t v) {
  if (v <= 1) return {std::numeric_limits<int32_t>::max(), 0};
  int shift = 11;
  while (v >= 1 << 29) {
    v /= 4;
    ++shift;
  }
  const int pairs = (std::countl_zero(static_cast<uint32_t>(v)) - 1) / 2 - 1;
  shift -= pairs;
  v *= 1 << (2 * pairs);  // now 2^27 <= v < 2^29
  const auto halfV = static_cast<int32_t>(shiftRightRounding(v >> 1, 1));
  constexpr int32_t kThreeHalves = 3 << 27;
  int32_t x = 1 << 28;
  for (int i = 0; i < 5; ++i) {
    const int32_t cube = saturate32(int64_t{multiplyHigh32(multiplyHigh32(x, x), x)} * 64);
    x = saturate32((int64_t{multiplyHigh32(kThreeHalves, x)} - multiplyHigh32(halfV, cube)) * 8);
  }
  constexpr int32_t kSqrtOfHalf = 1518500250;  // in Q0.31
  int32_t significand = multiplyHigh32(x, kSqrtOfHalf);
  if (shift < 0) {
    significand = saturate32(int64_t{significand} * (int64_t{1} << -shift));
    shift = 0;
  }
  return {significand, -shift};
}

int16_t sigmoidFixed(int16_t x, int integerBits) {
  if (x == 0) return 16384;
  const int32_t exp = expOfNegative(negativeMagnitude(x), integerBits);
  const int32_t positive = scaleUp16(reciprocalOfOnePlus(exp), 1);
  return static_cast<int16_t>(x > 0 ? positive : kOne15 - positive);
}

int16_t tanhFixed(int16_t x, int integerBits) {
  if (x == 0) return 0;
  // tanh x = (1 - e) / (1 + e) = 2 / (1 + e) - 1 with e = exp(-2 |x|).
  const int32_t exp = expOfNegative(negativeMagnitude(x), integerBits + 1);
  const int32_t positive = scaleUp16(reciprocalOfOnePlus(exp) - 8192, 2);
  return static_cast<int16_t>(x > 0 ? positive : -positive);
}

}  // namespace halyard::ops
