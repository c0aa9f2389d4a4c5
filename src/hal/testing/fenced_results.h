// Waits for results of fenced executions.
#pragma once

#include <gtest/gtest.h>

#include <chrono>

#include "halyard/driver/device.h"
#include "halyard/driver/sync_fence.h"

namespace halyard::hal::testing {

// The state of the result's fence when it is no longer pending, PENDING after a minute. Expects
// that the call succeeded.
inline FenceState waitFor(const FencedResult& result) {
  EXPECT_TRUE(result.status.ok()) << result.status.toString();
  const auto state =
      waitFence(result.fence.get(), std::chrono::steady_clock::now() + std::chrono::seconds(60));
  EXPECT_TRUE(state.ok()) << state.status().toString();
  return state.ok() ? *state : FenceState::PENDING;
}

}  // namespace halyard::hal::testing
