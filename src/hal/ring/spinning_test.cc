#include "hal/ring/spinning.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>
#include <vector>

namespace halyard::hal {
namespace {

using namespace std::chrono_literals;  // NOLINT: durations

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

TEST(Expectation, CountsThePeersWorkWithoutWakeUps) {
  Expectation expectation;
  EXPECT_FALSE(expectation.isShort());
  for (int i = 0; i < 8; ++i) expectation.note(30us, 160us);
  EXPECT_TRUE(expectation.isShort());
  for (int i = 0; i < 8; ++i) expectation.note(120us, 121us);
  EXPECT_FALSE(expectation.isShort());
}

TEST(Expectation, CountsTheWaitForAPeerThatServesOthersOrDoesNotMeasure) {
  Expectation expectation;
  for (int i = 0; i < 8; ++i) expectation.note(30us, 5ms);
  EXPECT_FALSE(expectation.isShort());
  for (int i = 0; i < 8; ++i) expectation.note(std::nullopt, 160us);
  EXPECT_FALSE(expectation.isShort());
  for (int i = 0; i < 8; ++i) expectation.note(std::nullopt, 30us);
  EXPECT_TRUE(expectation.isShort());
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

// The answers of a thread to its peer, at a simulated time.
class PartingTest : public ::testing::Test {
 protected:
  using Move = Parting::Move;

  // The first move among at most 100 answers, each after `trip`. `answers_` is their number.
  Move moveAfter(std::chrono::microseconds trip, bool together) {
    for (answers_ = 1; answers_ <= 100; ++answers_) {
      now_ += trip;
      const Move move = parting_.next(now_, together, true);
      if (move != Move::NONE) return move;
    }
    return Move::NONE;
  }

  Parting parting_;
  TimePoint now_ = Clock::now();
  unsigned answers_ = 0;
};

TEST_F(PartingTest, LeavesAfterSeveralAnswersTogether) {
  EXPECT_EQ(moveAfter(20us, true), Move::LEAVE);
  EXPECT_EQ(answers_, Parting::kAnswers + 1);
}

TEST_F(PartingTest, AnAnswerApartStartsTheCountAgain) {
  for (unsigned i = 0; i < Parting::kAnswers; ++i) {
    EXPECT_EQ(parting_.next(now_, true, true), Move::NONE);
  }
  EXPECT_EQ(parting_.next(now_, false, true), Move::NONE);
  EXPECT_EQ(moveAfter(20us, true), Move::LEAVE);
  EXPECT_EQ(answers_, Parting::kAnswers + 1);
}

TEST_F(PartingTest, SlowWorkIsNoReasonToLeave) {
  for (unsigned i = 0; i < 100; ++i) {
    EXPECT_EQ(parting_.next(now_ += 1ms, true, false), Move::NONE);
  }
}

TEST_F(PartingTest, StaysApartWhereThatIsFaster) {
  ASSERT_EQ(moveAfter(20us, true), Move::LEAVE);
  now_ += 200us;  // the move itself does not count
  EXPECT_EQ(moveAfter(12us, false), Move::NONE);
}

TEST_F(PartingTest, GoesBackWhereItIsSlower) {
  ASSERT_EQ(moveAfter(20us, true), Move::LEAVE);
  EXPECT_EQ(moveAfter(25us, false), Move::JOIN);
  EXPECT_EQ(moveAfter(25us, false), Move::NONE);
}

TEST_F(PartingTest, GoesBackSoonWhenTheCoreIsTaken) {
  ASSERT_EQ(moveAfter(20us, true), Move::LEAVE);
  EXPECT_EQ(moveAfter(3ms, false), Move::JOIN);
  EXPECT_EQ(answers_, 1u);
}

TEST_F(PartingTest, AttemptsWithoutEffectBecomeRare) {
  const TimePoint start = now_;
  std::vector<TimePoint> attempts;
  while (now_ < start + 60s) {
    if (moveAfter(20us, true) == Move::LEAVE) attempts.push_back(now_);
  }
  ASSERT_GE(attempts.size(), 8u);
  EXPECT_LE(attempts.size(), 18u);
  EXPECT_GE(attempts[1] - attempts[0], 32ms);
  EXPECT_GE(attempts.back() - attempts[attempts.size() - 2], 8s);
}

TEST_F(PartingTest, AMoveThatWasWorthItIsRepeatedSoon) {
  ASSERT_EQ(moveAfter(20us, true), Move::LEAVE);
  ASSERT_EQ(moveAfter(12us, false), Move::NONE);
  const TimePoint apart = now_;
  while (moveAfter(20us, true) != Move::LEAVE) {
  }
  EXPECT_LT(now_ - apart, 5ms);
}

}  // namespace
}  // namespace halyard::hal
