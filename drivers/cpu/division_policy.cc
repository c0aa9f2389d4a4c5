#include "division_policy.h"

#include <algorithm>

namespace halyard::cpudriver {

bool DivisionPolicy::decide(std::chrono::nanoseconds delay) {
  const std::lock_guard lock(mutex_);
  const Clock::time_point now = now_();
  if (paused_) {
    if (now < pauseEnd_) return false;
    // Waits of helpers before the pause do not count.
    paused_ = false;
    beginWindow(now, delay);
    return true;
  }
  const Clock::duration divided = now - windowStart_;
  const std::chrono::nanoseconds waited = delay - delayBefore_;
  // A long window that was quiet before the delay does not excuse it.
  if (waited >= kLeastDelay && kShare * waited >= std::min<Clock::duration>(divided, kWindow)) {
    paused_ = true;
    // Trouble soon after the last pause: the next one is longer.
    if (divided > kWindow) pause_ = kShortestPause;
    pauseEnd_ = now + pause_;
    pause_ = std::min<Clock::duration>(2 * pause_, kLongestPause);
    settled_.store(-1, std::memory_order_relaxed);
    return false;
  }
  if (divided > kWindow) {
    pause_ = kShortestPause;
    beginWindow(now, delay);
  }
  settled_.store(delay.count(), std::memory_order_relaxed);
  return true;
}

void DivisionPolicy::beginWindow(Clock::time_point now, std::chrono::nanoseconds delay) {
  windowStart_ = now;
  delayBefore_ = delay;
  settled_.store(delay.count(), std::memory_order_relaxed);
}

}  // namespace halyard::cpudriver
