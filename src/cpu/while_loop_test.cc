// The rules of loops.
#include "cpu/while_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace halyard::cpu {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(WhileLoop, RunsTheBodyAsLongAsTheConditionHolds) {
  std::vector<uint64_t> bodies;
  const Status status = runWhile(
      std::nullopt, [](uint64_t iteration) -> Result<bool> { return iteration < 3; },
      [&](uint64_t iteration) {
        bodies.push_back(iteration);
        return okStatus();
      });
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_THAT(bodies, ElementsAre(0u, 1u, 2u));
}

TEST(WhileLoop, AFailureNamesTheIteration) {
  const auto fails = [](uint64_t iteration) {
    return iteration == 1 ? opFailed("no value") : okStatus();
  };
  const Status body = runWhile(
      std::nullopt, [](uint64_t) -> Result<bool> { return true; }, fails);
  EXPECT_EQ(body.code(), ResultCode::OP_FAILED);
  EXPECT_EQ(body.message(), "body model, iteration 1: no value");
  const Status condition = runWhile(
      std::nullopt, [](uint64_t) -> Result<bool> { return opFailed("no value"); }, fails);
  EXPECT_EQ(condition.message(), "condition model, iteration 0: no value");
}

TEST(WhileLoop, TheTimeoutEndsIt) {
  const Status status = runWhile(
      std::chrono::milliseconds(100), [](uint64_t) -> Result<bool> { return true; },
      [](uint64_t) {
        std::this_thread::sleep_for(std::chrono::milliseconds(150));
        return okStatus();
      });
  EXPECT_EQ(status.code(), ResultCode::MISSED_DEADLINE_TRANSIENT);
  EXPECT_THAT(status.message(), HasSubstr("its timeout of 100 ms; 1 iterations are done"));
}

TEST(WhileLoop, ALoopThatHasEndedMissesNoTimeout) {
  const Status status = runWhile(
      std::chrono::nanoseconds(0),
      [](uint64_t) -> Result<bool> {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return false;
      },
      [](uint64_t) { return opFailed("the body has run"); });
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(WhileLoop, NamesTheBranch) {
  EXPECT_EQ(branchName(true), "then-model");
  EXPECT_EQ(branchName(false), "else-model");
}

}  // namespace
}  // namespace halyard::cpu
