#include "hal/ring/spinning.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

namespace halyard::hal {
namespace {

// Runs `work` on its own thread, which may use only its current core.
template <typename Work>
void onOneCore(Work work) {
  std::thread([&] {
    cpu_set_t set;
    CPU_ZERO(&set);
    const uint32_t core = currentCore();
    CPU_SET(core, &set);
    ASSERT_EQ(::sched_setaffinity(0, sizeof set, &set), 0);
    work(core);
  }).join();
}

// Whether `gate` polls when the peer is on `peerCore`.
bool looks(SpinGate& gate, uint32_t peerCore) {
  bool looked = false;
  gate.spin(
      Clock::now(), [&] { return looked = true; }, [&] { return peerCore; });
  return looked;
}

TEST(SpinGate, FindsWhatComes) {
  SpinGate gate;
  int rounds = 0;
  EXPECT_TRUE(gate.spin(
      Clock::now(), [&] { return ++rounds == 3; }, [] { return currentCore() + 1; }));
  EXPECT_EQ(rounds, 3);
}

TEST(SpinGate, EndsWhenNothingComes) {
  SpinGate gate;
  EXPECT_FALSE(gate.spin(
      Clock::now(), [] { return false; }, [] { return currentCore() + 1; }));
}

TEST(SpinGate, ALoneCoreIsForThePeerThatNeedsIt) {
  SpinGate gate;
  onOneCore([&](uint32_t core) {
    EXPECT_FALSE(looks(gate, core));
    EXPECT_FALSE(looks(gate, kUnknownCore));
  });
}

TEST(SpinGate, APeerOnAnotherCoreDoesNotNeedALoneOne) {
  SpinGate gate;
  onOneCore([&](uint32_t core) { EXPECT_TRUE(looks(gate, core + 1)); });
}

TEST(SpinGate, OneThreadOfALoneCoreLooks) {
  SpinGate gate;
  onOneCore([&](uint32_t core) {
    bool second = true;
    gate.spin(
        Clock::now(),
        [&] {
          second = looks(gate, core + 1);
          return true;
        },
        [&] { return core + 1; });
    EXPECT_FALSE(second);
    EXPECT_TRUE(looks(gate, core + 1));  // the first spin has ended
  });
}

TEST(SpinGate, WhoHasLostTheCoreDoesNotTryAgainAtOnce) {
  SpinGate gate;
  EXPECT_FALSE(gate.spin(
      Clock::now(),
      [] {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return false;
      },
      [] { return currentCore() + 1; }));
  // A time before the end of any shortage.
  bool looked = false;
  EXPECT_FALSE(gate.spin(
      Clock::now() - Shortage::kLongest, [&] { return looked = true; },
      [] { return currentCore() + 1; }));
  EXPECT_FALSE(looked);
}

TEST(Shortage, EndsSoon) {
  Shortage shortage;
  const TimePoint now = Clock::now();
  EXPECT_FALSE(shortage.lasts(now));
  shortage.note(now);
  EXPECT_TRUE(shortage.lasts(now));
  EXPECT_TRUE(shortage.lasts(now + Shortage::kShortest - std::chrono::nanoseconds(1)));
  EXPECT_FALSE(shortage.lasts(now + Shortage::kShortest));
}

TEST(Shortage, LastsEverLongerWhileItGoesOn) {
  Shortage shortage;
  TimePoint now = Clock::now();
  for (auto expected = Shortage::kShortest; expected <= Shortage::kLongest; expected *= 2) {
    shortage.note(now);
    EXPECT_TRUE(shortage.lasts(now + expected - std::chrono::nanoseconds(1)));
    now += expected;
    EXPECT_FALSE(shortage.lasts(now));
  }
  shortage.note(now);
  EXPECT_FALSE(shortage.lasts(now + Shortage::kLongest));
  // After a long time without a shortage, the next period is short again.
  now += 10 * Shortage::kLongest;
  shortage.note(now);
  EXPECT_FALSE(shortage.lasts(now + Shortage::kShortest));
}

}  // namespace
}  // namespace halyard::hal
