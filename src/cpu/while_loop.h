// Rules of IF and WHILE that hold wherever a model runs: in one device, or in a plan of several.
// Thread safety: pure functions.
// Ownership: none.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "halyard/driver/hal_types.h"
#include "halyard/driver/status.h"

namespace halyard::cpu {

// The name of the subgraph that IF chooses, for messages.
inline std::string_view branchName(bool condition) {
  return condition ? "then-model" : "else-model";
}

// Runs a loop. `condition(iteration)` returns a Result<bool>, and `body(iteration)` a Status. A
// loop that exceeds the timeout ends with MISSED_DEADLINE_TRANSIENT. The timeout is
// kDefaultLoopTimeout unless it is given, and never more than kMaximumLoopTimeout.
template <typename Condition, typename Body>
Status runWhile(std::optional<std::chrono::nanoseconds> given, Condition condition, Body body) {
  const auto timeout = std::min(given.value_or(hal::kDefaultLoopTimeout), hal::kMaximumLoopTimeout);
  const hal::TimePoint started = hal::Clock::now();
  for (uint64_t iteration = 0;; ++iteration) {
    HALYARD_ASSIGN_OR_RETURN(const bool goesOn, condition(iteration),
                             "condition model, iteration {}", iteration);
    if (!goesOn) return okStatus();
    if (hal::Clock::now() - started > timeout) {
      return makeStatus(
          ResultCode::MISSED_DEADLINE_TRANSIENT,
          "the loop has not ended within its timeout of {} ms; {} iterations are done",
          std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count(), iteration);
    }
    HALYARD_RETURN_IF_ERROR(body(iteration), "body model, iteration {}", iteration);
  }
}

}  // namespace halyard::cpu
