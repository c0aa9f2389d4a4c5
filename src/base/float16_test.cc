// Tests of Float16: every bit pattern in both directions, and rounding at the limits.
#include "base/float16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace halyard {
namespace {

// The value of a binary16 pattern by its definition (IEEE 754 3.4), in double.
double valueOf(uint16_t bits) {
  const double sign = bits & 0x8000 ? -1 : 1;
  const int exponent = (bits >> 10) & 0x1f;
  const int fraction = bits & 0x3ff;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

bool isFinitePattern(uint32_t bits) { return ((bits >> 10) & 0x1f) != 0x1f; }

TEST(Float16, EveryFinitePatternWidensExactlyAndComesBack) {
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    if (!isFinitePattern(bits)) continue;
    const auto pattern = static_cast<uint16_t>(bits);
    const float wide = toFloat(Float16{pattern});
    ASSERT_EQ(static_cast<double>(wide), valueOf(pattern)) << std::hex << bits;
    ASSERT_EQ(std::signbit(wide), (bits & 0x8000) != 0) << std::hex << bits;
    ASSERT_EQ(toFloat16(wide).bits, pattern) << std::hex << bits;
  }
}

TEST(Float16, InfinityAndNan) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(toFloat(Float16{0x7c00}), kInfinity);
  EXPECT_EQ(toFloat(Float16{0xfc00}), -kInfinity);
  EXPECT_EQ(toFloat16(kInfinity).bits, 0x7c00);
  EXPECT_EQ(toFloat16(-kInfinity).bits, 0xfc00);
  for (uint16_t bits : {0x7c01, 0x7e00, 0x7fff, 0xfc01, 0xffff}) {
    EXPECT_TRUE(std::isnan(toFloat(Float16{bits}))) << std::hex << bits;
  }
  const uint16_t nan = toFloat16(std::numeric_limits<float>::quiet_NaN()).bits;
  EXPECT_EQ(nan & 0x7c00, 0x7c00);
  EXPECT_NE(nan & 0x03ff, 0);
}

// The midpoint between two neighbours rounds to the even one. The floats next to it round to
// theirs.
TEST(Float16, RoundsToNearestEven) {
  for (uint16_t low = 0; low < 0x7bff; ++low) {
    const auto high = static_cast<uint16_t>(low + 1);
    // The midpoint is exact in float, which has 13 more fraction bits.
    const auto middle = static_cast<float>((valueOf(low) + valueOf(high)) / 2);
    const uint16_t even = low % 2 == 0 ? low : high;
    ASSERT_EQ(toFloat16(middle).bits, even) << std::hex << low;
    ASSERT_EQ(toFloat16(std::nextafter(middle, 0.0f)).bits, low) << std::hex << low;
    ASSERT_EQ(toFloat16(std::nextafter(middle, 1e9f)).bits, high) << std::hex << low;
    ASSERT_EQ(toFloat16(-middle).bits, even | 0x8000) << std::hex << low;
  }
}

TEST(Float16, OverflowAndUnderflow) {
  EXPECT_EQ(toFloat16(65504.0f).bits, 0x7bff);
  EXPECT_EQ(toFloat16(std::nextafter(65520.0f, 0.0f)).bits, 0x7bff);
  EXPECT_EQ(toFloat16(65520.0f).bits, 0x7c00);
  EXPECT_EQ(toFloat16(std::numeric_limits<float>::max()).bits, 0x7c00);
  EXPECT_EQ(toFloat16(-65520.0f).bits, 0xfc00);
  EXPECT_EQ(toFloat16(0x1p-25f).bits, 0);
  EXPECT_EQ(toFloat16(std::nextafter(0x1p-25f, 1.0f)).bits, 1);
  EXPECT_EQ(toFloat16(std::numeric_limits<float>::denorm_min()).bits, 0);
  EXPECT_EQ(toFloat16(-std::numeric_limits<float>::denorm_min()).bits, 0x8000);
}

}  // namespace
}  // namespace halyard
