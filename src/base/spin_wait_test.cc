#include "base/spin_wait.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <thread>

namespace halyard {
namespace {

TEST(SpinWait, TellsTheTimeNowAndThen) {
  const auto start = SpinWait::Clock::now();
  SpinWait spin(start, SpinWait::Yielding::NEVER);
  unsigned looks = 1;
  for (; !spin.pause(); ++looks) EXPECT_EQ(spin.passed().count(), 0);
  EXPECT_GT(looks, 1u);
  EXPECT_GE(spin.now(), start);
  EXPECT_EQ(spin.passed(), spin.now() - start);
  EXPECT_EQ(spin.gap(), spin.passed());
  const auto last = spin.now();
  while (!spin.pause()) {
  }
  EXPECT_EQ(spin.gap(), spin.now() - last);
}

TEST(SpinWait, TheGapIsLongWhenTheThreadHasBeenAway) {
  SpinWait spin(SpinWait::Clock::now(), SpinWait::Yielding::NEVER);
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  while (!spin.pause()) {
  }
  EXPECT_GE(spin.gap(), std::chrono::milliseconds(2));
}

// Two threads take turns on one processor. Without the offer, each turn would take a whole time
// slice: thousands of clock readings.
TEST(SpinWait, WhoOffersTheProcessorLetsAnotherOnIt) {
  constexpr int kTurns = 400;
  constexpr int kMostReadings = 100;  // per turn
  std::thread([] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    std::atomic<int> turn{0};
    std::atomic<int> readings{0};
    const auto takeTurns = [&](int own) {
      SpinWait spin(SpinWait::Clock::now(), SpinWait::Yielding::REGULARLY);
      for (int now = 0; (now = turn.load()) < kTurns;) {
        if (now % 2 == own) {
          turn.store(now + 1);
        } else if (spin.pause()) {
          ++readings;
        }
      }
    };
    std::thread other(takeTurns, 1);  // inherits the processor
    takeTurns(0);
    other.join();
    EXPECT_LT(readings.load(), kTurns * kMostReadings);
  }).join();
}

}  // namespace
}  // namespace halyard
