// Tests of checkMayContinue: before and after deadlines, and after a cancellation.
#include "halyard/driver/deadline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halyard::hal {
namespace {

using ::testing::HasSubstr;

TEST(CheckMayContinueTest, LooksAtDeadlineAndCancellation) {
  ExecuteOptions options;
  EXPECT_TRUE(checkMayContinue(options).ok());
  options.deadline = Clock::now() + std::chrono::hours(1);
  EXPECT_TRUE(checkMayContinue(options).ok());
  std::stop_source source;
  options.cancel = source.get_token();
  EXPECT_TRUE(checkMayContinue(options).ok());
  source.request_stop();
  EXPECT_EQ(checkMayContinue(options).code(), ResultCode::OP_FAILED);
  EXPECT_THAT(checkMayContinue(options).message(), HasSubstr("cancelled"));
  options = {};
  options.deadline = Clock::now() - std::chrono::milliseconds(3);
  EXPECT_EQ(checkMayContinue(options).code(), ResultCode::MISSED_DEADLINE_TRANSIENT);
}

TEST(CheckMayContinueTest, OfAPreparation) {
  PrepareOptions options;
  EXPECT_TRUE(checkMayContinue(options).ok());
  options.deadline = Clock::now();
  EXPECT_EQ(checkMayContinue(options).code(), ResultCode::MISSED_DEADLINE_TRANSIENT);
}

}  // namespace
}  // namespace halyard::hal
