#include "base/fair_executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/testing/fair_executor_fixture.h"
#include "base/thread_sanitizer.h"

namespace halyard {
namespace {

using namespace halyard::testing;  // NOLINT: the fixture's vocabulary
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(FairExecutorTest, LanesTakeTurns) {
  start(1, 1);
  occupy();
  const LanePtr a = lane();
  const LanePtr b = lane();
  const LanePtr c = lane();
  for (const char* entry : {"a1", "a2", "a3", "a4"}) post(a, entry);
  for (const char* entry : {"b1", "b2"}) post(b, entry);
  post(c, "c1");
  gate_.open();
  EXPECT_THAT(log_.first(7), ElementsAre("a1", "b1", "c1", "a2", "b2", "a3", "a4"));
}

TEST_F(FairExecutorTest, TheLaneWithFewestRunningJobsComesFirst) {
  start(2, 2);
  const LanePtr greedy = lane();
  Gate first;
  ASSERT_TRUE(executor_->post(greedy, ThreadClass::NORMAL, [&] { first.pass(); }).ok());
  postGated(greedy);
  first.awaitInside(1);
  gate_.awaitInside(1);
  post(greedy, "greedy");
  post(lane(), "modest");
  first.open();
  EXPECT_THAT(log_.first(2), ElementsAre("modest", "greedy"));
}

TEST_F(FairExecutorTest, ClassesHaveThreadsOfTheirOwn) {
  start(1, 1);
  occupy(ThreadClass::BACKGROUND);
  occupy(ThreadClass::NORMAL);
  std::atomic<ThreadClass> ran = ThreadClass::NORMAL;
  const Status posted = executor_->post(lane(), ThreadClass::URGENT, [&] {
    ran = currentThreadClass();
    log_.add("urgent");
  });
  ASSERT_TRUE(posted.ok());
  EXPECT_THAT(log_.first(1), ElementsAre("urgent"));
  EXPECT_EQ(ran, ThreadClass::URGENT);
}

TEST_F(FairExecutorTest, ThreadsStartOnDemandUpToTheUsualNumber) {
  start(3, 3);
  EXPECT_EQ(executor_->threads(), 0u);
  post(lane(), "one");
  log_.first(1);
  EXPECT_LE(executor_->threads(), 1u);
  for (int i = 0; i < 3; ++i) occupy();
  const LanePtr last = lane();
  postGated(last);
  std::this_thread::sleep_for(10 * FairExecutor::kPatience);
  EXPECT_EQ(executor_->threads(), 3u);
  EXPECT_EQ(gate_.inside(), 3u);
}

TEST_F(FairExecutorTest, TheUsualNumberFollowsTheProcessors) {
  EXPECT_GE(FairExecutor::usualThreads(), 4u);
  EXPECT_GE(FairExecutor::usualThreads(), 2 * std::thread::hardware_concurrency());
}

TEST_F(FairExecutorTest, AClientThatTakesAllThreadsDoesNotStopOthers) {
  for (const ThreadClass threadClass :
       {ThreadClass::BACKGROUND, ThreadClass::NORMAL, ThreadClass::URGENT}) {
    Gate gate;
    Log log;
    FairExecutor executor({2, 12});
    const LanePtr greedy = executor.openLane({});
    for (int i = 0; i < 20; ++i) {
      ASSERT_TRUE(executor.post(greedy, threadClass, [&] { gate.pass(); }).ok());
    }
    gate.awaitInside(2);
    for (size_t i = 1; i <= 3; ++i) {
      ASSERT_TRUE(
          executor.post(executor.openLane({}), threadClass, [&] { log.add("other"); }).ok());
      EXPECT_EQ(log.first(i).size(), i);
    }
    EXPECT_LE(executor.threads(), 12u);
    gate.open();
  }
}

TEST_F(FairExecutorTest, ALaneThatBlocksItselfGoesOn) {
  start(1, 8);
  const LanePtr same = lane();
  postGated(same);
  gate_.awaitInside(1);
  const auto start = FairExecutor::Clock::now();
  post(same, "goes on");
  EXPECT_THAT(log_.first(1), ElementsAre("goes on"));
  EXPECT_GE(FairExecutor::Clock::now() - start, FairExecutor::kLongPatience);
}

TEST_F(FairExecutorTest, ALaneThatBlocksItselfInTheBackgroundWaits) {
  start(1, 8);
  const LanePtr same = lane();
  postGated(same, ThreadClass::BACKGROUND);
  gate_.awaitInside(1);
  post(same, "waits", ThreadClass::BACKGROUND);
  std::this_thread::sleep_for(2 * FairExecutor::kLongPatience);
  EXPECT_EQ(executor_->threads(), 1u);
  EXPECT_EQ(executor_->waiting(), 1u);
}

// The lanes wait for longer than the patience, but no job takes so long. A busy machine may stretch
// a job, so there are several attempts.
TEST_F(FairExecutorTest, MuchShortWorkStartsNoFurtherThreads) {
  constexpr int kLanes = 60;
  unsigned fewest = kLanes;
  for (int attempt = 0; attempt < 20 && fewest > 1; ++attempt) {
    FairExecutor executor({1, kLanes});
    Log log;
    const auto begin = FairExecutor::Clock::now();
    for (int i = 0; i < kLanes; ++i) {
      const Status posted = executor.post(executor.openLane({}), ThreadClass::NORMAL, [&] {
        std::this_thread::sleep_for(std::chrono::microseconds(400));
        log.add("done");
      });
      ASSERT_TRUE(posted.ok());
    }
    log.first(kLanes);
    EXPECT_GT(FairExecutor::Clock::now() - begin, 2 * FairExecutor::kPatience);
    fewest = std::min(fewest, executor.threads());
  }
  EXPECT_EQ(fewest, 1u);
}

TEST_F(FairExecutorTest, AddedThreadsEnd) {
  start(1, 8);
  for (int i = 0; i < 6; ++i) occupy();
  EXPECT_GE(executor_->threads(), 6u);
  gate_.open();
  EXPECT_TRUE(becomes([&] { return executor_->threads() <= 2; }));
  // An executor that lives until the process exits. ThreadSanitizer would report ended threads then
  // that are not joined.
  [[maybe_unused]] static FairExecutor* const kept = executor_.release();
}

TEST_F(FairExecutorTest, LimitOfWaitingJobs) {
  start(1, 1);
  occupy();
  const LanePtr small = lane({.queued = 2});
  post(small, "1");
  post(small, "2");
  const Status third = executor_->post(small, ThreadClass::NORMAL, [] {});
  EXPECT_EQ(third.code(), ResultCode::RESOURCE_EXHAUSTED_TRANSIENT);
  EXPECT_THAT(third.message(), HasSubstr("2 calls"));
  post(lane(), "another's");
}

TEST_F(FairExecutorTest, LimitOfRunningJobs) {
  start(3, 3);
  const LanePtr limited = lane({.running = 2});
  for (int i = 0; i < 3; ++i) postGated(limited);
  gate_.awaitInside(2);
  post(lane(), "other");  // takes the third thread
  EXPECT_THAT(log_.first(1), ElementsAre("other"));
  EXPECT_EQ(gate_.inside(), 2u);
  EXPECT_EQ(executor_->waiting(), 1u);
}

TEST_F(FairExecutorTest, AClosedLaneDropsItsJobs) {
  start(1, 1);
  occupy();
  const LanePtr closed = lane();
  auto held = std::make_shared<int>(0);
  for (int i = 0; i < 5; ++i) {
    const auto job = [this, held] { log_.add("never"); };
    ASSERT_TRUE(executor_->post(closed, ThreadClass::NORMAL, job).ok());
  }
  executor_->close(closed);
  EXPECT_EQ(executor_->post(closed, ThreadClass::NORMAL, [] {}).code(), ResultCode::OP_FAILED);
  EXPECT_TRUE(becomes([&] { return held.use_count() == 1; })) << "on the thread of disposals";
  post(lane(), "after");
  gate_.open();
  EXPECT_THAT(log_.first(1), ElementsAre("after"));
}

TEST_F(FairExecutorTest, DisposesOnAThreadOfItsOwn) {
  start(1, 1);
  std::atomic<std::thread::id> where;
  executor_->dispose(std::shared_ptr<void>(nullptr, [&](void*) {
    where = std::this_thread::get_id();
    log_.add("disposed");
  }));
  log_.first(1);
  EXPECT_NE(where.load(), std::this_thread::get_id());
  executor_->stop();
  executor_->dispose(
      std::shared_ptr<void>(nullptr, [&](void*) { where = std::this_thread::get_id(); }));
  EXPECT_EQ(where.load(), std::this_thread::get_id());
}

TEST_F(FairExecutorTest, DrainWaitsForRunningJobsAndDropsTheRest) {
  start(1, 1);
  occupy();
  auto held = std::make_shared<int>(0);
  ASSERT_TRUE(executor_->post(lane(), ThreadClass::NORMAL, [held] { FAIL() << "ran"; }).ok());
  EXPECT_FALSE(executor_->drain(milliseconds(1)));
  EXPECT_EQ(held.use_count(), 1);
  gate_.open();
  EXPECT_TRUE(executor_->drain(std::nullopt));
  EXPECT_EQ(executor_->post(lane(), ThreadClass::NORMAL, [] {}).code(), ResultCode::OP_FAILED);
}

TEST_F(FairExecutorTest, StopEndsAllThreads) {
  start(2, 8);
  for (int i = 0; i < 4; ++i) occupy();
  std::jthread opens([this] {
    std::this_thread::sleep_for(milliseconds(5));
    gate_.open();
  });
  executor_->stop();
  EXPECT_EQ(gate_.inside(), 0u);
  EXPECT_EQ(executor_->threads(), 0u);
}

TEST_F(FairExecutorTest, AJobMayDestroyTheExecutor) {
  // Often, so that the job also ends before `post` has returned.
  for (int i = 0; i < 200; ++i) {
    start(2, 2);
    std::atomic<bool> destroyed = false;
    const Status posted = executor_->post(lane(), ThreadClass::NORMAL, [&] {
      executor_ = nullptr;
      destroyed = true;
    });
    EXPECT_TRUE(posted.ok());
    EXPECT_TRUE(becomes([&] { return destroyed.load(); }));
  }
}

TEST_F(FairExecutorTest, AnExceptionEndsItsJobOnly) {
  start(1, 1);
  const LanePtr same = lane();
  const auto throws = [] { throw std::runtime_error("a fault of a job"); };
  ASSERT_TRUE(executor_->post(same, ThreadClass::NORMAL, throws).ok());
  ASSERT_TRUE(executor_->post(same, ThreadClass::NORMAL, [] { throw 1; }).ok());
  post(same, "after");
  EXPECT_THAT(log_.first(1), ElementsAre("after"));
  EXPECT_EQ(executor_->threads(), 1u);
}

TEST_F(FairExecutorTest, AJobExpiresWhileAllThreadsAreBusy) {
  start(1, 1);
  occupy();
  const auto deadline = FairExecutor::Clock::now() + milliseconds(10);
  const auto never = [] { FAIL() << "ran after its deadline"; };
  for (const ThreadClass threadClass : {ThreadClass::NORMAL, ThreadClass::BACKGROUND}) {
    if (threadClass == ThreadClass::BACKGROUND) occupy(threadClass);
    ASSERT_TRUE(
        executor_->post(lane(), threadClass, never, {deadline, [&] { log_.add("late"); }}).ok());
  }
  EXPECT_EQ(log_.first(2).size(), 2u);
  EXPECT_GE(FairExecutor::Clock::now(), deadline);
  EXPECT_EQ(executor_->waiting(), 0u);
  // In time, the job runs instead.
  gate_.open();
  const auto later = FairExecutor::Clock::now() + std::chrono::hours(1);
  ASSERT_TRUE(executor_
                  ->post(lane(), ThreadClass::NORMAL, [this] { log_.add("in time"); },
                         {later, [] { FAIL(); }})
                  .ok());
  EXPECT_EQ(log_.first(3)[2], "in time");
}

TEST_F(FairExecutorTest, AJobExpiresBehindOthersOfItsLane) {
  start(4, 4);
  const LanePtr limited = lane({.running = 1});
  postGated(limited);
  const auto deadline = FairExecutor::Clock::now() + milliseconds(10);
  const auto never = [] { FAIL() << "ran after its deadline"; };
  ASSERT_TRUE(
      executor_->post(limited, ThreadClass::NORMAL, never, {deadline, [&] { log_.add("late"); }})
          .ok());
  EXPECT_THAT(log_.first(1), ElementsAre("late"));
}

TEST_F(FairExecutorTest, RunWaitsForAThreadOfTheClass) {
  start(2, 2);
  std::thread::id ran;
  ThreadClass threadClass = ThreadClass::NORMAL;
  ASSERT_TRUE(executor_
                  ->run(lane(), ThreadClass::BACKGROUND, {}, {},
                        [&] {
                          ran = std::this_thread::get_id();
                          threadClass = currentThreadClass();
                        })
                  .ok());
  EXPECT_NE(ran, std::this_thread::get_id());
  EXPECT_EQ(threadClass, ThreadClass::BACKGROUND);
}

TEST_F(FairExecutorTest, RunOnAThreadOfTheClassDoesNotLeaveIt) {
  start(1, 1);
  const LanePtr own = lane();
  std::thread::id outer;
  std::thread::id inner;
  ASSERT_TRUE(executor_
                  ->run(own, ThreadClass::BACKGROUND, {}, {},
                        [&] {
                          outer = std::this_thread::get_id();
                          EXPECT_TRUE(executor_
                                          ->run(own, ThreadClass::BACKGROUND, {}, {},
                                                [&] { inner = std::this_thread::get_id(); })
                                          .ok());
                        })
                  .ok());
  EXPECT_EQ(inner, outer);
}

TEST_F(FairExecutorTest, RunPassesExceptionsOn) {
  start(1, 1);
  const auto throws = [] { throw std::runtime_error("the fault"); };
  EXPECT_THROW((void)executor_->run(lane(), ThreadClass::BACKGROUND, {}, {}, throws),
               std::runtime_error);
}

TEST_F(FairExecutorTest, CallsTakeTurns) {
  start(2, 2);
  const LanePtr alice = lane();
  const LanePtr bob = lane();
  std::vector<std::jthread> callers;
  Gate first;
  callers.push_back(call(alice, [&] { first.pass(); }));
  callers.push_back(call(alice, [&] { gate_.pass(); }));
  first.awaitInside(1);
  gate_.awaitInside(1);
  callers.push_back(callWaiting(alice, [&] { log_.add("a"); }));
  callers.push_back(callWaiting(alice, [&] { log_.add("a"); }));
  callers.push_back(callWaiting(bob, [&] { log_.add("b"); }));
  first.open();
  EXPECT_THAT(log_.first(3), ElementsAre("b", "a", "a"));
  gate_.open();
}

TEST_F(FairExecutorTest, DeadlineAndCancellationEndTheWaitingOfACall) {
  start(1, 1);
  occupy(ThreadClass::BACKGROUND);
  const auto never = [] { FAIL() << "ran although it was given up"; };
  const auto deadline = FairExecutor::Clock::now() + milliseconds(10);
  const Status late = executor_->run(lane(), ThreadClass::BACKGROUND, deadline, {}, never);
  EXPECT_EQ(late.code(), ResultCode::MISSED_DEADLINE_TRANSIENT);
  EXPECT_THAT(late.message(), HasSubstr("waited for its turn"));

  std::stop_source source;
  std::jthread canceller([&] {
    std::this_thread::sleep_for(milliseconds(10));
    source.request_stop();
  });
  const Status cancelled =
      executor_->run(lane(), ThreadClass::BACKGROUND, FairExecutor::Clock::time_point::max(),
                     source.get_token(), never);
  EXPECT_EQ(cancelled.code(), ResultCode::OP_FAILED);
  EXPECT_THAT(cancelled.message(), HasSubstr("cancelled"));
  EXPECT_EQ(executor_->waiting(), 0u);
  gate_.open();
  EXPECT_TRUE(executor_->run(lane(), ThreadClass::BACKGROUND, {}, {}, [] {}).ok());
}

TEST_F(FairExecutorTest, DrainEndsTheWaitingOfACall) {
  start(1, 1);
  occupy(ThreadClass::BACKGROUND);
  std::jthread caller([this] {
    const Status dropped =
        executor_->run(lane(), ThreadClass::BACKGROUND, {}, {}, [] { FAIL() << "ran"; });
    EXPECT_EQ(dropped.code(), ResultCode::OP_FAILED);
  });
  EXPECT_TRUE(becomes([&] { return executor_->waiting() == 1; }));
  EXPECT_FALSE(executor_->drain(milliseconds(1)));
  caller.join();
}

TEST(FairExecutorFork, AChildTakesNoWorkOfItsParentsExecutor) {
  auto executor = std::make_unique<FairExecutor>();
  const LanePtr lane = executor->openLane({});
  ASSERT_TRUE(executor->run(lane, ThreadClass::NORMAL, {}, {}, [] {}).ok());
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const bool refuses =
        executor->post(lane, ThreadClass::NORMAL, [] {}).code() == ResultCode::BAD_STATE &&
        executor->run(lane, ThreadClass::NORMAL, {}, {}, [] {}).code() == ResultCode::BAD_STATE;
    executor->close(lane);
    executor = nullptr;  // does not wait for the parent's threads
    bool works = true;
    // ThreadSanitizer allows no threads there.
    if (!kThreadSanitizer) {
      FairExecutor own;
      works = own.run(own.openLane({}), ThreadClass::NORMAL, {}, {}, [] {}).ok();
    }
    ::_exit(refuses && works ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(executor->run(lane, ThreadClass::NORMAL, {}, {}, [] {}).ok());
}

}  // namespace
}  // namespace halyard
