// Tests of the answers about operations that reach reports.
#include "hal/core/operation_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace halyard::hal {
namespace {

TEST(OperationSupport, IsMadeOfBoolsAndStatuses) {
  SupportedOperations operations = {true, false};
  operations.push_back(okStatus());
  operations.push_back(badData("stride {}, at most {}", 9, 4));
  operations.push_back(OperationSupport::yes(std::chrono::microseconds(3)));
  operations.push_back(OperationSupport::no("too wide"));
  std::vector<bool> supported;
  for (const OperationSupport& each : operations) supported.push_back(each.supported);
  EXPECT_THAT(supported, ::testing::ElementsAre(true, false, true, false, true, false));
  EXPECT_EQ(operations[1].reason, "");
  EXPECT_EQ(operations[3].reason, "stride 9, at most 4");
  EXPECT_EQ(operations[4].cost, 3000);
  EXPECT_EQ(operations[5].reason, "too wide");
  EXPECT_FALSE(supportsAll(operations));
  EXPECT_TRUE(supportsAll({true, true}));
}

std::string normalised(std::string reason) {
  SupportedOperations operations = {OperationSupport::no(std::move(reason))};
  normalise(operations);
  return operations[0].reason;
}

TEST(OperationSupport, AReasonBecomesOneShortPrintableLine) {
  EXPECT_EQ(normalised("a filter of 9 × 9"), "a filter of 9 × 9");
  EXPECT_EQ(normalised("two\nlines\x1b[2J\x7f\xff"), "two lines?[2J??");
  EXPECT_EQ(normalised(std::string("zero\0byte", 9)), "zero?byte");
  const std::string limit(OperationSupport::kMaxReasonBytes, 'x');
  EXPECT_EQ(normalised(limit), limit);
  EXPECT_EQ(normalised(limit + "y"), limit);
  // A character at the limit is not cut in two.
  const std::string shorter = limit.substr(1);
  EXPECT_EQ(normalised(shorter + "×"), shorter);
}

TEST(OperationSupport, AllReasonsTogetherAreLimited) {
  const std::string reason(OperationSupport::kMaxReasonBytes, 'x');
  const size_t fitting = kMaxReasonsBytes / reason.size();
  SupportedOperations operations(fitting + 2, OperationSupport::no(reason));
  normalise(operations);
  EXPECT_EQ(operations[fitting - 1].reason, reason);
  EXPECT_EQ(operations[fitting].reason, "");
  EXPECT_EQ(operations[fitting + 1].reason, "");
}

TEST(OperationSupport, OnlyUsableCostsAndReasonsStay) {
  const double bad[] = {0, -1, std::numeric_limits<double>::quiet_NaN(),
                        std::numeric_limits<double>::infinity()};
  for (const double cost : bad) {
    SupportedOperations operations = {true};
    operations[0].cost = cost;
    normalise(operations);
    EXPECT_EQ(operations[0].cost, std::nullopt) << cost;
  }
  SupportedOperations operations = {OperationSupport::yes(std::chrono::nanoseconds(7)), false};
  operations[0].reason = "none is needed";
  operations[1].cost = 5;
  normalise(operations);
  EXPECT_EQ(operations[0].cost, 7);
  EXPECT_EQ(operations[0].reason, "");
  EXPECT_EQ(operations[1].cost, std::nullopt);
}

}  // namespace
}  // namespace halyard::hal
