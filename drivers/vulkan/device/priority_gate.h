// PriorityGate: the order of submissions by the priority of their models. The device takes
// submissions as they come, so others wait here.
// Thread safety: all methods may be called from several threads at once. Ownership: none.
#pragma once

#include <array>
#include <condition_variable>
#include <mutex>
#include <optional>

#include "halyard/driver/hal_types.h"

namespace halyard::vulkandriver {

class PriorityGate {
 public:
  // Waits while submissions of a higher priority are in the gate or wait for it, but at most for
  // kLongestWait. MISSED_DEADLINE_TRANSIENT if the deadline passes before that.
  Status enter(hal::Priority priority, const std::optional<hal::TimePoint>& deadline);
  // After each enter() that returned OK.
  void leave(hal::Priority priority);

  // One submission of some 20 ms in this time is the share that the processor gives to work of low
  // priority beside other work.
  static constexpr auto kLongestWait = std::chrono::milliseconds(500);

 private:
  bool isFree(hal::Priority priority) const;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<int, 3> inside_ = {};  // by priority, with those that wait
};

}  // namespace halyard::vulkandriver
