// Tests of the assignment of numbers to requests in a ring, and of its duration.
#include "hal/ring/recording_numbers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hal/ring/packets.h"

namespace halyard::hal {
namespace {

using ::testing::ElementsAre;

class RecordingNumbersTest : public ::testing::Test {
 protected:
  // The number of a request. Records the request if necessary.
  std::optional<uint32_t> compute(uint64_t key) {
    const auto use = numbers_.use(key);
    if (!use) return std::nullopt;
    if (!use->isRecorded) ++records_;
    numbers_.confirm(key);
    return use->number;
  }

  std::vector<uint32_t> freed_;
  unsigned records_ = 0;
  RecordingNumbers numbers_{[this](uint32_t number) { freed_.push_back(number); }};
};

TEST_F(RecordingNumbersTest, DriversMayKeepNone) {
  EXPECT_FALSE(numbers_.use(1).has_value());
  numbers_.allow(0);
  EXPECT_FALSE(numbers_.use(1).has_value());
  numbers_.release(1);
  EXPECT_TRUE(freed_.empty());
}

TEST_F(RecordingNumbersTest, ARequestIsRecordedOnce) {
  numbers_.allow(2);
  const auto first = numbers_.use(1);
  ASSERT_TRUE(first.has_value());
  EXPECT_FALSE(first->isRecorded);
  const auto failed = numbers_.use(1);
  ASSERT_TRUE(failed.has_value());
  EXPECT_EQ(failed->number, first->number);
  EXPECT_FALSE(failed->isRecorded) << "the driver has not confirmed it";
  numbers_.confirm(1);
  EXPECT_TRUE(numbers_.use(1)->isRecorded);
  const auto other = numbers_.use(2);
  ASSERT_TRUE(other.has_value());
  EXPECT_NE(other->number, first->number);
  EXPECT_FALSE(other->isRecorded);
}

TEST_F(RecordingNumbersTest, ADriverCannotKeepMoreThanTheFormatHas) {
  numbers_.allow(UINT32_MAX);
  for (uint64_t key = 1; key <= kMaxRecordings; ++key) EXPECT_LT(compute(key), kMaxRecordings);
  EXPECT_FALSE(numbers_.use(kMaxRecordings + 1).has_value());
}

TEST_F(RecordingNumbersTest, MoreRequestsInTurnDoNotRecordEachOtherAway) {
  numbers_.allow(4);
  for (int round = 0; round < 100; ++round) {
    for (uint64_t key = 1; key <= 5; ++key) (void)compute(key);
  }
  EXPECT_EQ(records_, 4u);
}

TEST_F(RecordingNumbersTest, AnUnusedRequestLosesItsNumber) {
  numbers_.allow(2);
  const auto first = compute(1);
  for (int i = 0; i < 100; ++i) (void)compute(2);
  EXPECT_EQ(compute(3), first);
  EXPECT_EQ(records_, 3u);
  EXPECT_FALSE(numbers_.use(1).has_value());
  numbers_.release(1);
  EXPECT_TRUE(freed_.empty()) << "the number is of another request";
}

TEST_F(RecordingNumbersTest, ANumberIsUsedAgainOnceTheDriverHasDroppedIt) {
  numbers_.allow(1);
  ASSERT_EQ(compute(1), 0u);
  numbers_.release(1);
  EXPECT_THAT(freed_, ElementsAre(0u));
  numbers_.release(1);
  EXPECT_THAT(freed_, ElementsAre(0u)) << "once";
  EXPECT_FALSE(numbers_.use(2).has_value());
  numbers_.recycle(7);
  EXPECT_FALSE(numbers_.use(2).has_value());
  numbers_.recycle(0);
  const auto again = numbers_.use(2);
  ASSERT_TRUE(again.has_value());
  EXPECT_FALSE(again->isRecorded);
  numbers_.confirm(2);
  numbers_.recycle(0);
  EXPECT_TRUE(numbers_.use(2)->isRecorded) << "it is not being freed";
}

}  // namespace
}  // namespace halyard::hal
