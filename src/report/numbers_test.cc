#include "report/numbers.h"

#include <gtest/gtest.h>

#include <limits>

namespace halyard::report {
namespace {

TEST(Numbers, ThreeSignificantDigits) {
  EXPECT_EQ(shortNumber(0), "0");
  EXPECT_EQ(shortNumber(1.234), "1.23");
  EXPECT_EQ(shortNumber(-12.34), "-12.3");
  EXPECT_EQ(shortNumber(9.999), "10.0");
  EXPECT_EQ(shortNumber(123.4), "123");
  EXPECT_EQ(shortNumber(12345), "12300");
  EXPECT_EQ(shortNumber(0.01234), "0.0123");
  EXPECT_EQ(shortNumber(1.23e9), "1.2e+09");
  EXPECT_EQ(shortNumber(std::numeric_limits<double>::infinity()), "-");
}

TEST(Numbers, Durations) {
  EXPECT_EQ(durationText(1234), "1.23 s");
  EXPECT_EQ(durationText(12.34), "12.3 ms");
  EXPECT_EQ(durationText(0.0234), "23.4 us");
  EXPECT_EQ(durationText(0.000021), "21.0 ns");
  EXPECT_EQ(durationText(0), "0 ns");
}

TEST(Numbers, Bytes) {
  EXPECT_EQ(bytesText(100), "100 bytes");
  EXPECT_EQ(bytesText(1536), "1.50 KiB");
  EXPECT_EQ(bytesText(3.0 * (1 << 20)), "3.00 MiB");
  EXPECT_EQ(bytesText(3.0 * (1 << 30)), "3.00 GiB");
}

TEST(Numbers, Percentages) {
  EXPECT_EQ(percentText(0.9312), "93.1 %");
  EXPECT_EQ(percentText(std::numeric_limits<double>::quiet_NaN()), "-");
}

}  // namespace
}  // namespace halyard::report
