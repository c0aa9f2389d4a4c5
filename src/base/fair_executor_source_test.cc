// Sources of work: rings and similar, which announce themselves by descriptors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/fair_executor.h"
#include "base/testing/fair_executor_fixture.h"
#include "halyard/driver/unique_fd.h"

namespace halyard {
namespace {

using namespace halyard::testing;  // NOLINT: the fixture's vocabulary
using ::testing::ElementsAre;
using Outcome = FairExecutor::Source::Outcome;

// Counts its turns; a turn takes what `answer` does.
class Counter final : public FairExecutor::Source {
 public:
  explicit Counter(std::function<Outcome(int turn)> answer) : answer_(std::move(answer)) {}
  std::array<int, 2> descriptors() const override { return {first_.get(), second_.get()}; }
  Outcome serve(const FairExecutor::Turn&) override {
    EXPECT_EQ(inside_.fetch_add(1), 0) << "two threads at once";
    const Outcome outcome = answer_(++turns_);
    inside_.fetch_sub(1);
    return outcome;
  }
  void ring(bool second = false) const {
    const uint64_t one = 1;
    ASSERT_EQ(::write(second ? second_.get() : first_.get(), &one, sizeof one), 8);
  }
  int turns() const { return turns_; }

 private:
  const UniqueFd first_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  const UniqueFd second_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  const std::function<Outcome(int turn)> answer_;
  std::atomic<int> inside_ = 0;
  std::atomic<int> turns_ = 0;
};

class SourceTest : public FairExecutorTest {
 protected:
  std::shared_ptr<Counter> add(const LanePtr& lane, std::function<Outcome(int)> answer) {
    auto source = std::make_shared<Counter>(std::move(answer));
    EXPECT_TRUE(executor_->add(source, lane, ThreadClass::NORMAL).ok());
    return source;
  }
  Outcome gated() {
    gate_.pass();
    return Outcome::IDLE;
  }
};

TEST_F(SourceTest, EachEdgeOfEitherDescriptorLeadsToATurn) {
  start(2, 2);
  const auto source = add(lane(), [](int) { return Outcome::IDLE; });
  for (int i = 1; i <= 20; ++i) {
    source->ring(i % 2 == 0);
    EXPECT_TRUE(becomes([&] { return source->turns() == i; }));
  }
}

TEST_F(SourceTest, AnEdgeDuringATurnLeadsToAnother) {
  start(3, 3);
  const auto source = add(lane(), [this](int turn) { return turn == 1 ? gated() : Outcome::IDLE; });
  source->ring();
  gate_.awaitInside(1);
  source->ring();
  std::this_thread::sleep_for(milliseconds(5));
  EXPECT_EQ(source->turns(), 1);
  gate_.open();
  EXPECT_TRUE(becomes([&] { return source->turns() == 2; }));
}

TEST_F(SourceTest, ASourceAsksForMoreTurnsBehindOtherWork) {
  start(1, 1);
  occupy();
  const LanePtr same = lane();
  const auto source = add(same, [this](int turn) {
    log_.add("turn");
    return turn < 3 ? Outcome::MORE : Outcome::IDLE;
  });
  source->ring();
  gate_.open();
  EXPECT_THAT(log_.first(3), ElementsAre("turn", "turn", "turn"));
}

TEST_F(SourceTest, ATurnLearnsThatOthersWait) {
  start(1, 1);
  class Asks final : public FairExecutor::Source {
   public:
    explicit Asks(Log& log) : log_(log) {}
    std::array<int, 2> descriptors() const override { return {ready_.get(), silent_.get()}; }
    Outcome serve(const FairExecutor::Turn& turn) override {
      while (!turn.othersWait()) std::this_thread::yield();
      EXPECT_FALSE(turn.stopping());
      log_.add("others wait");
      return Outcome::ENDED;
    }

   private:
    const UniqueFd ready_{::eventfd(1, EFD_CLOEXEC)};
    const UniqueFd silent_{::eventfd(0, EFD_CLOEXEC)};
    Log& log_;
  };
  ASSERT_TRUE(executor_->add(std::make_shared<Asks>(log_), lane(), ThreadClass::NORMAL).ok());
  EXPECT_THAT(log_.first(1), ElementsAre("others wait"));  // no thread is idle
}

TEST_F(SourceTest, AnEndedOrRemovedSourceGetsNoTurn) {
  start(1, 1);
  for (const bool removed : {false, true}) {
    const auto source = add(lane(), [](int) { return Outcome::ENDED; });
    if (removed) {
      executor_->remove(*source);
    } else {
      source->ring();
      EXPECT_TRUE(becomes([&] { return source->turns() == 1; }));
    }
    EXPECT_TRUE(becomes([&] { return source.use_count() == 1; }));
    source->ring();
    std::this_thread::sleep_for(milliseconds(5));
    EXPECT_EQ(source->turns(), removed ? 0 : 1);
  }
}

TEST_F(SourceTest, ASourceThatWaitsOrRunsCanBeRemoved) {
  start(1, 1);
  const LanePtr same = lane();
  const auto runs = add(same, [this](int) { return gated(); });
  runs->ring();
  gate_.awaitInside(1);
  const auto waits = add(same, [](int) { return Outcome::IDLE; });
  waits->ring();
  executor_->remove(*runs);
  executor_->remove(*waits);
  gate_.open();
  EXPECT_TRUE(becomes([&] { return runs.use_count() == 1 && waits.use_count() == 1; }));
  EXPECT_EQ(waits->turns(), 0);
}

TEST_F(SourceTest, AnExceptionEndsTheSource) {
  start(1, 1);
  const auto source = add(lane(), [](int) -> Outcome { throw std::runtime_error("a fault"); });
  source->ring();
  EXPECT_TRUE(becomes([&] { return source.use_count() == 1; }));
  post(lane(), "after");
  EXPECT_THAT(log_.first(1), ElementsAre("after"));
}

TEST_F(SourceTest, SourcesThatWaitForLongGetAThread) {
  start(1, 2);
  occupy();
  const auto source = add(lane(), [](int) { return Outcome::IDLE; });
  source->ring();
  EXPECT_TRUE(becomes([&] { return source->turns() == 1; }));
}

TEST_F(SourceTest, SourcesOfOneLaneDoNotGetAllThreads) {
  start(4, 4);
  const LanePtr greedy = lane({.running = 2});
  std::vector<std::shared_ptr<Counter>> sources;
  for (int i = 0; i < 3; ++i) {
    sources.push_back(add(greedy, [this](int) { return gated(); }));
    sources.back()->ring();
  }
  gate_.awaitInside(2);
  const auto other = add(lane(), [](int) { return Outcome::IDLE; });
  other->ring();
  EXPECT_TRUE(becomes([&] { return other->turns() == 1; }));
  EXPECT_EQ(gate_.inside(), 2u);
  gate_.open();
  for (const auto& source : sources) {
    EXPECT_TRUE(becomes([&] { return source->turns() == 1; }));
  }
}

TEST_F(SourceTest, ManySourcesAndJobsAreAllServed) {
  start(4, 8);
  constexpr int kSources = 40;
  std::vector<std::shared_ptr<Counter>> sources;
  for (int i = 0; i < kSources; ++i) {
    sources.push_back(add(lane(), [](int) { return Outcome::IDLE; }));
  }
  const LanePtr jobs = lane();
  std::atomic<int> done = 0;
  for (int round = 1; round <= 20; ++round) {
    for (const auto& source : sources) {
      source->ring();
      ASSERT_TRUE(executor_->post(jobs, ThreadClass::NORMAL, [&] { ++done; }).ok());
    }
    for (const auto& source : sources) {
      EXPECT_TRUE(becomes([&] { return source->turns() >= round; }));
    }
  }
  EXPECT_TRUE(becomes([&] { return done == 20 * kSources; }));
}

}  // namespace
}  // namespace halyard
