// DivisionPolicy: decides whether executions divide their loops among threads. It looks at how long
// the threads wait for a processor.
// Thread safety: all methods may be called from any thread.
// Ownership: plain data.
//
// A process cannot know which other processes use the machine, but it sees the effect: threads that
// help with a loop come late. Dividing is then of no use. The loop's own thread does the work in
// the end, or waits for a thread that lost its processor in the middle of it. So executions keep to
// one thread each for a while, and then try again. If the helpers come late again within a window,
// the next pause is twice as long.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>

namespace halyard::cpudriver {

class DivisionPolicy {
 public:
  using Clock = std::chrono::steady_clock;
  using Now = Clock::time_point (*)();

  // The first and the longest time for which executions keep to one thread.
  static constexpr std::chrono::milliseconds kShortestPause{4};
  static constexpr std::chrono::milliseconds kLongestPause{256};
  // Loops are not divided any more if each helper has waited for so much time on average. It must
  // also be this share of the time in which loops were divided.
  static constexpr std::chrono::milliseconds kLeastDelay{4};
  static constexpr int kShare = 4;  // the share is 1 in 4
  // A period that is judged by itself: earlier periods do not count.
  static constexpr std::chrono::milliseconds kWindow{50};

  // `now` is for tests.
  explicit DivisionPolicy(Now now = [] { return Clock::now(); }) : now_(now) {}

  // Called before a loop. `delay`: the total wait of each helper so far, on average. It never
  // decreases.
  bool divides(std::chrono::nanoseconds delay) {
    const int64_t settled = settled_.load(std::memory_order_relaxed);
    return delay.count() == settled || decide(delay);
  }

 private:
  bool decide(std::chrono::nanoseconds delay);

  // Call it with the lock.
  void beginWindow(Clock::time_point now, std::chrono::nanoseconds delay);

  const Now now_;
  // The delay for which the answer is yes without a decision; -1: no such delay.
  std::atomic<int64_t> settled_{0};
  std::mutex mutex_;
  Clock::time_point windowStart_{};  // of dividing
  std::chrono::nanoseconds delayBefore_{0};
  bool paused_ = false;
  Clock::time_point pauseEnd_;
  Clock::duration pause_ = kShortestPause;  // the next one
};

}  // namespace halyard::cpudriver
