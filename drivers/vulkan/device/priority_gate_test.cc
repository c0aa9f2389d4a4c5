// The order of submissions, without a device.
#include "device/priority_gate.h"

#include <gtest/gtest.h>

#include <thread>

namespace halyard::vulkandriver {
namespace {

using enum hal::Priority;

TEST(PriorityGateTest, EqualAndHigherPrioritiesEnterTogether) {
  PriorityGate gate;
  EXPECT_TRUE(gate.enter(LOW, {}).ok());
  EXPECT_TRUE(gate.enter(LOW, {}).ok());
  EXPECT_TRUE(gate.enter(MEDIUM, {}).ok());
  EXPECT_TRUE(gate.enter(HIGH, {}).ok());
}

TEST(PriorityGateTest, LowerPrioritiesWait) {
  PriorityGate gate;
  ASSERT_TRUE(gate.enter(HIGH, {}).ok());
  // The deadline is the only end of this wait.
  const auto deadline = hal::Clock::now() + std::chrono::milliseconds(1);
  const Status late = gate.enter(MEDIUM, deadline);
  EXPECT_EQ(late.code(), ResultCode::MISSED_DEADLINE_TRANSIENT);
  EXPECT_GE(hal::Clock::now(), deadline);
  gate.leave(HIGH);
  // The one that has given up holds no other back.
  EXPECT_TRUE(gate.enter(LOW, hal::Clock::now()).ok());
}

TEST(PriorityGateTest, AWaitingOneEntersWhenTheHigherLeaves) {
  PriorityGate gate;
  ASSERT_TRUE(gate.enter(HIGH, {}).ok());
  std::thread low([&] { EXPECT_TRUE(gate.enter(LOW, {}).ok()); });
  gate.leave(HIGH);
  low.join();
}

TEST(PriorityGateTest, NoneWaitsForever) {
  PriorityGate gate;
  ASSERT_TRUE(gate.enter(HIGH, {}).ok());
  EXPECT_TRUE(gate.enter(LOW, {}).ok());
}

}  // namespace
}  // namespace halyard::vulkandriver
