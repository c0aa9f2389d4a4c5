#include "division_policy.h"

#include <gtest/gtest.h>

namespace halyard::cpudriver {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// A policy with a clock and helpers that do as the test says.
class DivisionPolicyTest : public ::testing::Test {
 protected:
  void SetUp() override { time_ = DivisionPolicy::Clock::time_point(std::chrono::hours(1)); }

  bool divides() { return policy_.divides(delay_); }
  static void pass(milliseconds time) { time_ += time; }
  // The helpers wait for all of it.
  void passWaiting(milliseconds time) {
    time_ += time;
    delay_ += time;
  }
  // Loops are divided and no thread waits, for long enough that nothing before counts.
  void settle() {
    EXPECT_TRUE(divides());
    pass(2 * DivisionPolicy::kWindow);
    delay_ += nanoseconds(1);
    EXPECT_TRUE(divides());
  }
  void makeTrouble() {
    settle();
    passWaiting(DivisionPolicy::kLeastDelay);
    EXPECT_FALSE(divides());
  }
  // For how long loops are not divided from now on, in steps of a millisecond.
  milliseconds pause() {
    milliseconds waited{0};
    for (; !divides(); waited += milliseconds(1)) pass(milliseconds(1));
    return waited;
  }

 private:
  static DivisionPolicy::Clock::time_point time_;
  nanoseconds delay_{0};
  DivisionPolicy policy_{[] { return time_; }};
};

DivisionPolicy::Clock::time_point DivisionPolicyTest::time_;

TEST_F(DivisionPolicyTest, DividesWhereHelpersComeAtOnce) {
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(divides());
    pass(milliseconds(1));
  }
}

TEST_F(DivisionPolicyTest, OneShortDelayIsForgiven) {
  settle();
  passWaiting(DivisionPolicy::kLeastDelay - milliseconds(1));
  EXPECT_TRUE(divides());
}

TEST_F(DivisionPolicyTest, DelaysNowAndThenAreForgiven) {
  settle();
  // An eighth of the time, for long.
  for (int i = 0; i < 100; ++i) {
    passWaiting(milliseconds(3));
    EXPECT_TRUE(divides()) << i;
    pass(milliseconds(21));
    EXPECT_TRUE(divides()) << i;
  }
}

TEST_F(DivisionPolicyTest, DoesNotDivideForAWhileWhenHelpersWait) {
  makeTrouble();
  EXPECT_EQ(pause(), DivisionPolicy::kShortestPause);
}

TEST_F(DivisionPolicyTest, WaitingAllTheTimeIsSeenAfterALongQuietTime) {
  settle();
  pass(milliseconds(10'000));
  milliseconds waited{0};
  for (; divides(); waited += milliseconds(2)) {
    ASSERT_LT(waited, DivisionPolicy::kWindow);
    passWaiting(milliseconds(2));
  }
}

TEST_F(DivisionPolicyTest, TriesEverMoreRarelyWhileItIsInVain) {
  makeTrouble();
  milliseconds expected = DivisionPolicy::kShortestPause;
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(pause(), expected) << i;
    passWaiting(DivisionPolicy::kLeastDelay);
    EXPECT_FALSE(divides());
    expected = std::min<milliseconds>(2 * expected, DivisionPolicy::kLongestPause);
  }
}

TEST_F(DivisionPolicyTest, BeginsWithShortPausesAgainAfterAGoodTime) {
  makeTrouble();
  for (int i = 0; i < 10; ++i) {
    pause();
    passWaiting(DivisionPolicy::kLeastDelay);
  }
  pause();
  makeTrouble();
  EXPECT_EQ(pause(), DivisionPolicy::kShortestPause);
}

TEST_F(DivisionPolicyTest, WaitingDuringAPauseDoesNotCount) {
  makeTrouble();
  passWaiting(milliseconds(100));
  EXPECT_TRUE(divides());
  pass(milliseconds(1));
  EXPECT_TRUE(divides());
}

}  // namespace
}  // namespace halyard::cpudriver
