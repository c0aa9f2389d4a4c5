// Tests of fixed-point functions against the exact rational values of their definitions, against
// the real functions, and at the limits of their ranges.
#include "ops/fixed_point.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace halyard::ops {
namespace {

constexpr int32_t kMin = std::numeric_limits<int32_t>::min();
constexpr int32_t kMax = std::numeric_limits<int32_t>::max();

TEST(FixedPoint, ProductsRoundHalfUp) {
  EXPECT_EQ(multiplyHigh16(16384, 16384), 8192);
  EXPECT_EQ(multiplyHigh16(3, 16384), 2);    // 1.5
  EXPECT_EQ(multiplyHigh16(-3, 16384), -1);  // -1.5
  EXPECT_EQ(multiplyHigh16(-32768, -32768), 32767);
  EXPECT_EQ(multiplyHigh16(-32768, 32767), -32767);
  EXPECT_EQ(multiplyHigh32(3, 1 << 30), 2);
  EXPECT_EQ(multiplyHigh32(-3, 1 << 30), -1);
  EXPECT_EQ(multiplyHigh32(kMin, kMin), kMax);
  EXPECT_EQ(multiplyHigh32(kMin, kMax), -kMax);
  std::mt19937 random(1);
  for (int i = 0; i < 100000; ++i) {
    const auto a = static_cast<int32_t>(random());
    const auto b = static_cast<int32_t>(random());
    // A long double holds the product exactly.
    const auto wide = [](int64_t x) { return static_cast<long double>(x); };
    ASSERT_EQ(multiplyHigh32(a, b), std::floor(wide(a) * wide(b) / 0x1p31L + 0.5L));
    ASSERT_EQ(multiplyHigh16(a >> 16, b >> 16),
              std::floor(wide(a >> 16) * wide(b >> 16) / 0x1p15L + 0.5L));
  }
}

TEST(FixedPoint, ShiftsRoundHalfAway) {
  EXPECT_EQ(shiftRightRounding(3, 1), 2);
  EXPECT_EQ(shiftRightRounding(-3, 1), -2);
  EXPECT_EQ(shiftRightRounding(5, 2), 1);
  EXPECT_EQ(shiftRightRounding(-6, 2), -2);
  EXPECT_EQ(shiftRightRounding(-5, 2), -1);
  EXPECT_EQ(shiftRightRounding(kMin, 32), -1);
  EXPECT_EQ(shiftRightRounding(kMin, 33), 0);
  EXPECT_EQ(shiftRightRounding(kMax, 62), 0);
  EXPECT_EQ(shiftRightRounding(int64_t{1} << 62, 62), 1);
  EXPECT_EQ(shiftRightRounding(kMax, 1000), 0);
  EXPECT_EQ(shiftRightRounding(kMin, 0), kMin);
  EXPECT_EQ(shiftRightRounding(7, -5), 7);
  EXPECT_EQ(scaleUp16(-3, 2), -12);
  EXPECT_EQ(scaleUp16(16384, 1), 32767);
  EXPECT_EQ(scaleUp16(-16385, 1), -32768);
  EXPECT_EQ(scaleUp16(kMin, 31), -32768);
  EXPECT_EQ(saturateTo<int8_t>(-129), -128);
}

TEST(FixedPoint, MultipliersOfRealNumbers) {
  const auto expectMultiplier = [](double real, int32_t significand, int exponent) {
    const FixedMultiplier multiplier = toFixedMultiplier(real);
    EXPECT_EQ(multiplier.significand, significand) << real;
    EXPECT_EQ(multiplier.exponent, exponent) << real;
  };
  expectMultiplier(1, 1 << 30, 1);
  expectMultiplier(0.5, 1 << 30, 0);
  expectMultiplier(3, 3 << 29, 2);
  expectMultiplier(0.1, 1717986918, -3);
  expectMultiplier(1 - 0x1p-40, 1 << 30, 1);  // rounds up to 1
  expectMultiplier(0x1p-32, 1 << 30, -31);
  expectMultiplier(0x1p-33, 0, 0);
  expectMultiplier(0, 0, 0);
  expectMultiplier(-1, 0, 0);
  expectMultiplier(std::numeric_limits<double>::quiet_NaN(), 0, 0);
  expectMultiplier(std::numeric_limits<double>::denorm_min(), 0, 0);
  expectMultiplier(std::numeric_limits<double>::max(), 1 << 30, 1025);
}

TEST(FixedPoint, MultipliesByRealNumbers) {
  EXPECT_EQ(multiplyByFixed(100, toFixedMultiplier(0.5)), 50);
  EXPECT_EQ(multiplyByFixed(3, toFixedMultiplier(0.5)), 2);
  EXPECT_EQ(multiplyByFixed(-3, toFixedMultiplier(0.5)), -1);  // the first rounding goes up ...
  EXPECT_EQ(multiplyByFixed(-5, toFixedMultiplier(0.25)), -1);
  EXPECT_EQ(multiplyByFixed(-6, toFixedMultiplier(0.25)), -2);  // ... the second one away from 0
  EXPECT_EQ(multiplyByFixed(-7, toFixedMultiplier(3)), -21);
  EXPECT_EQ(multiplyByFixed(12345, {}), 0);
  EXPECT_EQ(multiplyByFixed(12345, {0, 12}), 0);
  EXPECT_EQ(multiplyByFixed(kMax, {1 << 30, 20}), 1 << 30);  // saturated before the product
  EXPECT_EQ(multiplyByFixed(-1, {1 << 30, 1000}), -(1 << 30));
  EXPECT_EQ(multiplyByFixed(kMin, {1 << 30, -1000}), 0);
  std::mt19937 random(2);
  for (int i = 0; i < 100000; ++i) {
    const auto x = static_cast<int32_t>(random()) >> (random() % 31);
    const double real = std::ldexp(1 + std::ldexp(random(), -32), -static_cast<int>(random() % 30));
    const double limited = std::abs(x) < 1 << 29 ? real : real / 4;  // no saturation
    ASSERT_NEAR(multiplyByFixed(x, toFixedMultiplier(limited)), x * limited, 1.01)
        << x << " times " << limited;
  }
}

TEST(FixedPoint, InverseSquareRoots) {
  // Computed from the definition in rational arithmetic.
  const struct {
    int32_t v, significand;
    int exponent;
  } exact[] = {{0, kMax, 0},
               {1, kMax, 0},
               {2, 1518498372, 0},
               {3, 1239850284, 0},
               {4, 1073741828, 0},
               {5, 960383900, 0},
               {100, 214748363, 0},
               {65536, 268435457, -5},
               {1000000, 274877901, -7},
               {(1 << 29) - 1, 189812531, -11},
               {1 << 29, 379624593, -12},
               {1 << 30, 268435457, -12},
               {kMax, 189812531, -12}};
  for (const auto& expected : exact) {
    const FixedMultiplier actual = inverseSqrt(expected.v);
    EXPECT_EQ(actual.significand, expected.significand) << expected.v;
    EXPECT_EQ(actual.exponent, expected.exponent) << expected.v;
  }
  for (int64_t v = 1; v <= kMax; v += 1 + v / 1000) {
    const FixedMultiplier actual = inverseSqrt(static_cast<int32_t>(v));
    const double real = std::ldexp(actual.significand, actual.exponent - 31);
    ASSERT_NEAR(real * std::sqrt(static_cast<double>(v)), 1, 1e-5) << v;
  }
  EXPECT_EQ(inverseSqrt(kMin).significand, kMax);
}

// Returns FNV-1a over the results for all arguments, lowest argument and lowest byte first.
template <typename F>
uint64_t digestOf(F f, int integerBits) {
  uint64_t hash = 0xcbf29ce484222325;
  for (int x = -32768; x <= 32767; ++x) {
    const auto y = static_cast<uint16_t>(f(static_cast<int16_t>(x), integerBits));
    for (const int byte : {y & 255, y >> 8}) {
      hash = (hash ^ static_cast<uint64_t>(byte)) * 0x100000001b3;
    }
  }
  return hash;
}

// Single values, then digests over all arguments, from the definitions evaluated in rational
// arithmetic.
TEST(FixedPoint, GateFunctionsAreExact) {
  const std::vector<std::pair<int, int>> sigmoid = {
      {-32768, 11}, {-20000, 243}, {-4096, 8815}, {-1000, 14391}, {-1, 16383},   {0, 16384},
      {1, 16384},   {1000, 18376}, {4096, 23952}, {12345, 31236}, {32767, 32756}};
  for (const auto& [x, y] : sigmoid) EXPECT_EQ(sigmoidFixed(static_cast<int16_t>(x), 3), y) << x;
  const std::vector<std::pair<int, int>> tanh = {
      {-32768, -32767}, {-20000, -32767}, {-4096, -24964}, {-1000, -7840}, {-1, -8},      {0, 0},
      {1, 8},           {1000, 7840},     {4096, 24964},   {12345, 32616}, {32767, 32767}};
  for (const auto& [x, y] : tanh) EXPECT_EQ(tanhFixed(static_cast<int16_t>(x), 3), y) << x;

  EXPECT_EQ(digestOf(sigmoidFixed, 3), 0xc53053b6c3100c4);
  const uint64_t digests[] = {0x7ba16fd74eb76a73, 0x367455b5876e9215, 0x80567d4f0c05d1a1,
                              0xab2e663b18ab5c1,  0x71117f57c5d5d098, 0xfe1a64c4ee250c04,
                              0x5c6c54cbf9605572};
  for (int bits = 0; bits <= 6; ++bits) EXPECT_EQ(digestOf(tanhFixed, bits), digests[bits]) << bits;
}

TEST(FixedPoint, GateFunctionsAreNearTheRealOnes) {
  for (int bits = 0; bits <= 6; ++bits) {
    for (int x = -32768; x <= 32767; ++x) {
      const double real = std::ldexp(x, bits - 15);
      const double sigmoid = 1 / (1 + std::exp(-real)) * 32768;
      const double tanh = std::tanh(real) * 32768;
      ASSERT_NEAR(sigmoidFixed(static_cast<int16_t>(x), bits), sigmoid, 8) << x << ", " << bits;
      ASSERT_NEAR(tanhFixed(static_cast<int16_t>(x), bits), tanh, 13) << x << ", " << bits;
    }
  }
}

}  // namespace
}  // namespace halyard::ops
