#include "base/looking.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <thread>

namespace halyard {
namespace {

TEST(Looking, TellsTheTimeNowAndThen) {
  const auto start = Looking::Clock::now();
  Looking looking(start, Looking::Manners::KEEPS_PROCESSOR);
  unsigned looks = 1;
  for (; !looking.pause(); ++looks) EXPECT_EQ(looking.passed().count(), 0);
  EXPECT_GT(looks, 1u);
  EXPECT_GE(looking.now(), start);
  EXPECT_EQ(looking.passed(), looking.now() - start);
  EXPECT_EQ(looking.gap(), looking.passed());
  const auto last = looking.now();
  while (!looking.pause()) {
  }
  EXPECT_EQ(looking.gap(), looking.now() - last);
}

TEST(Looking, TheGapIsLongWhenTheThreadHasBeenAway) {
  Looking looking(Looking::Clock::now(), Looking::Manners::KEEPS_PROCESSOR);
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  while (!looking.pause()) {
  }
  EXPECT_GE(looking.gap(), std::chrono::milliseconds(2));
}

// Two threads take turns on one processor. Without the offer, each turn would take a whole time
// slice: thousands of clock readings.
TEST(Looking, WhoOffersTheProcessorLetsAnotherOnIt) {
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
      Looking looking(Looking::Clock::now(), Looking::Manners::OFFERS_PROCESSOR);
      for (int now = 0; (now = turn.load()) < kTurns;) {
        if (now % 2 == own) {
          turn.store(now + 1);
        } else if (looking.pause()) {
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
