// Fixed-point exponential, reciprocal and inverse square root, by polynomials and Newton's method.
#include "ops/fixed_point.h"

#include <bit>
#include <cmath>

#include "ops/simd.h"

namespace halyard::ops {
namespace {

constexpr int32_t kOne15 = 32767;  // 1 in Q0.15, rounded to the nearest value

// The following functions use 32 bits and no branches, so that loops over them vectorise. Except
// for products, the values have 16 bits.

// As multiplyHigh16.
HALYARD_ALWAYS_INLINE int32_t highProduct(int32_t a, int32_t b) {
  const int32_t product = (a * b + (1 << 14)) >> 15;
  return product < 32767 ? product : 32767;
}
// As shiftRightRounding.
template <int kExponent>
HALYARD_ALWAYS_INLINE int32_t shiftRounding(int32_t x) {
  const int32_t magnitude = ((x < 0 ? -x : x) + (1 << (kExponent - 1))) >> kExponent;
  return x < 0 ? -magnitude : magnitude;
}
// As scaleUp16.
template <int kExponent>
HALYARD_ALWAYS_INLINE int32_t scaledUp(int32_t x) {
  const int32_t scaled = x * (1 << kExponent);
  const int32_t raised = scaled < -32768 ? -32768 : scaled;
  return raised > 32767 ? 32767 : raised;
}

// exp(a / 2^15) for -8192 <= a < 0 in Q0.15, by the series around -1/8.
HALYARD_ALWAYS_INLINE int32_t expOfQuarter(int32_t a) {
  constexpr int32_t kExpOfMinusEighth = 28918;
  constexpr int32_t kThird = 10923;
  const int32_t x = a + 4096;
  const int32_t x2 = highProduct(x, x);
  const int32_t x3 = highProduct(x2, x);
  const int32_t x4 = highProduct(x2, x2);
  // x^2/2 + x^3/6 + x^4/24
  const int32_t rest = shiftRounding<1>(highProduct(shiftRounding<2>(x4) + x3, kThird) + x2);
  return scaledUp<0>(kExpOfMinusEighth + highProduct(kExpOfMinusEighth, x + rest));
}

// exp(-2^kExponent) in Q0.15, if the value with that many integer bits has the corresponding bit
// set.
template <int kIntegerBits, int kExponent>
HALYARD_ALWAYS_INLINE int32_t timesExpOfBit(int32_t result, int32_t value, int32_t exp) {
  if constexpr (kIntegerBits > kExponent) {
    constexpr int32_t kBit = 1 << (15 - kIntegerBits + kExponent);
    return (value & kBit) != 0 ? highProduct(result, exp) : result;
  } else {
    return result;
  }
}

// exp of a value <= 0 with this number of integer bits (at most 7), in Q0.15. The part above -1/4
// uses its series, and each higher bit adds a factor.
template <int kIntegerBits>
HALYARD_ALWAYS_INLINE int32_t expOfNegative(int32_t a) {
  constexpr int32_t kQuarter = 1 << (13 - kIntegerBits);
  const int32_t low = (a & (kQuarter - 1)) - kQuarter;
  const int32_t rest = low - a;
  int32_t result = expOfQuarter(scaledUp<kIntegerBits>(low));
  result = timesExpOfBit<kIntegerBits, -2>(result, rest, 25520);
  result = timesExpOfBit<kIntegerBits, -1>(result, rest, 19875);
  result = timesExpOfBit<kIntegerBits, 0>(result, rest, 12055);
  result = timesExpOfBit<kIntegerBits, 1>(result, rest, 4435);
  result = timesExpOfBit<kIntegerBits, 2>(result, rest, 600);
  result = timesExpOfBit<kIntegerBits, 3>(result, rest, 11);
  result = timesExpOfBit<kIntegerBits, 4>(result, rest, 0);
  if constexpr (kIntegerBits > 5) result = a < -(1 << (20 - kIntegerBits)) ? 0 : result;
  return a == 0 ? kOne15 : result;
}

// 2 / (1 + a) in Q2.13, of a in [0, 1] in Q0.15, by Newton's method.
HALYARD_ALWAYS_INLINE int32_t reciprocalOfOnePlus(int32_t a) {
  constexpr int32_t kStart = 23130;  // 48/17
  constexpr int32_t kSlope = 15420;  // 32/17, in Q1.13
  const int32_t half = (a + kOne15 + 1) / 2;
  int32_t x = kStart + highProduct(half, -kSlope);
  for (int i = 0; i < 3; ++i) {
    const int32_t error = 8192 - highProduct(half, x);
    x += scaledUp<2>(highProduct(x, error));
  }
  return x;
}

struct Sigmoid {
  static constexpr int kMostBits = 6;
  template <int kIntegerBits>
  HALYARD_ALWAYS_INLINE static int32_t of(int32_t x) {
    const int32_t exp = expOfNegative<kIntegerBits>(x < 0 ? x : -x);
    const int32_t positive = scaledUp<1>(reciprocalOfOnePlus(exp));
    const int32_t result = x > 0 ? positive : kOne15 - positive;
    return x == 0 ? 16384 : result;
  }
};
struct Tanh {
  static constexpr int kMostBits = 6;
  // tanh x = (1 - e) / (1 + e) = 2 / (1 + e) - 1 with e = exp(-2 |x|).
  template <int kIntegerBits>
  HALYARD_ALWAYS_INLINE static int32_t of(int32_t x) {
    const int32_t exp = expOfNegative<kIntegerBits + 1>(x < 0 ? x : -x);
    const int32_t positive = scaledUp<2>(reciprocalOfOnePlus(exp) - 8192);
    const int32_t result = x > 0 ? positive : -positive;
    return x == 0 ? 0 : result;
  }
};

template <typename Function, int kIntegerBits>
HALYARD_ALWAYS_INLINE void applyToAll(const int16_t* from, int16_t* to, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    to[i] = static_cast<int16_t>(Function::template of<kIntegerBits>(from[i]));
  }
}

template <typename Function, int kIntegerBits = 0>
void applyWithBits(const int16_t* from, int16_t* to, size_t count, int integerBits) {
  if constexpr (kIntegerBits < Function::kMostBits) {
    if (integerBits != kIntegerBits) {
      return applyWithBits<Function, kIntegerBits + 1>(from, to, count, integerBits);
    }
  }
  runBest<&applyToAll<Function, kIntegerBits>>(from, to, count);
}

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

void sigmoidsFixed(const int16_t* from, int16_t* to, size_t count, int integerBits) {
  applyWithBits<Sigmoid>(from, to, count, integerBits);
}

void tanhsFixed(const int16_t* from, int16_t* to, size_t count, int integerBits) {
  applyWithBits<Tanh>(from, to, count, integerBits);
}

int16_t sigmoidFixed(int16_t x, int integerBits) {
  int16_t result = 0;
  sigmoidsFixed(&x, &result, 1, integerBits);
  return result;
}

int16_t tanhFixed(int16_t x, int integerBits) {
  int16_t result = 0;
  tanhsFixed(&x, &result, 1, integerBits);
  return result;
}

}  // namespace halyard::ops
