#include "base/first_time.h"

#include <gtest/gtest.h>

#include <string>

namespace halyard {
namespace {

TEST(FirstTime, IsTrueOnceForEachText) {
  EXPECT_TRUE(firstTime("the device is gone"));
  EXPECT_FALSE(firstTime("the device is gone"));
  EXPECT_TRUE(firstTime("the device is back"));
  EXPECT_FALSE(firstTime("the device is gone"));
}

TEST(FirstTime, KeepsABoundedNumberOfTexts) {
  EXPECT_TRUE(firstTime("an old one"));
  for (int i = 0; i < 1000; ++i) (void)firstTime("text " + std::to_string(i));
  EXPECT_TRUE(firstTime("an old one"));
}

}  // namespace
}  // namespace halyard
