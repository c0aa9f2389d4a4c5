// Scheduler: which thread, which order, how many at a time, and what ends the waiting.
#include "hal/session/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "base/thread_class.h"

namespace halyard::hal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A door that work waits at.
class Door {
 public:
  void pass() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void awaitWaiting(unsigned count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_ >= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  unsigned waiting_ = 0;
  bool open_ = false;
};

class SchedulerTest : public testing::Test {
 protected:
  // Calls run in a thread of its own.
  std::jthread start(const void* client, std::function<void()> work) {
    return std::jthread([this, client, work = std::move(work)] {
      EXPECT_TRUE(scheduler_.run(Priority::LOW, client, {}, {}, work).ok());
    });
  }
  // As start, and returns when the piece waits for its turn, behind those before it.
  std::jthread startWaiting(const void* client, std::function<void()> work) {
    const size_t before = scheduler_.waiting();
    std::jthread thread = start(client, std::move(work));
    while (scheduler_.waiting() == before) std::this_thread::yield();
    return thread;
  }

  Scheduler scheduler_{2};
  const int alice_ = 0;
  const int bob_ = 0;
};

TEST_F(SchedulerTest, OnlyLowPriorityLeavesItsThread) {
  for (const Priority priority : {Priority::MEDIUM, Priority::HIGH}) {
    std::thread::id ran;
    ASSERT_TRUE(
        scheduler_.run(priority, &alice_, {}, {}, [&] { ran = std::this_thread::get_id(); }).ok());
    EXPECT_EQ(ran, std::this_thread::get_id());
  }
  std::thread::id ran;
  ThreadClass threadClass = ThreadClass::NORMAL;
  ASSERT_TRUE(scheduler_
                  .run(Priority::LOW, &alice_, {}, {},
                       [&] {
                         ran = std::this_thread::get_id();
                         threadClass = currentThreadClass();
                       })
                  .ok());
  EXPECT_NE(ran, std::this_thread::get_id());
  EXPECT_EQ(threadClass, ThreadClass::BACKGROUND);
}

TEST_F(SchedulerTest, AThreadOfTheClassRunsItsWorkItself) {
  std::thread([&] {
    enterPriorityClass(Priority::LOW);
    for (int round = 0; round < 3; ++round) {
      std::thread::id ran;
      ASSERT_TRUE(
          scheduler_.run(Priority::LOW, &alice_, {}, {}, [&] { ran = std::this_thread::get_id(); })
              .ok());
      EXPECT_EQ(ran, std::this_thread::get_id());
    }
  }).join();
}

TEST_F(SchedulerTest, FewRunAtATimeWhetherInItsThreadsOrInThoseOfOthers) {
  Door door;
  std::atomic<int> running{0};
  std::atomic<int> most{0};
  const auto work = [&] {
    const int now = ++running;
    int seen = most;
    while (now > seen && !most.compare_exchange_weak(seen, now)) {
    }
    door.pass();
    --running;
  };
  std::vector<std::jthread> callers;
  for (int i = 0; i < 6; ++i) {
    callers.push_back(start(&alice_, work));
    callers.emplace_back([&] {
      enterPriorityClass(Priority::LOW);
      EXPECT_TRUE(scheduler_.run(Priority::LOW, &bob_, {}, {}, work).ok());
    });
  }
  door.awaitWaiting(2);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  // High priority does not wait for any of them.
  bool ran = false;
  EXPECT_TRUE(scheduler_.run(Priority::HIGH, &alice_, {}, {}, [&] { ran = true; }).ok());
  EXPECT_TRUE(ran);
  door.open();
  callers.clear();
  EXPECT_EQ(most, 2);
}

TEST_F(SchedulerTest, ClientsTakeTurns) {
  Door door;
  std::vector<std::jthread> callers;
  // One client has both places, and more that wait; the other comes last and is next all the same.
  std::mutex mutex;
  std::vector<char> order;
  const auto note = [&](char who) {
    return [&, who] {
      const std::lock_guard lock(mutex);
      order.push_back(who);
    };
  };
  Door first;
  callers.push_back(start(&alice_, [&] { first.pass(); }));
  callers.push_back(start(&alice_, [&] { door.pass(); }));
  first.awaitWaiting(1);
  door.awaitWaiting(1);
  callers.push_back(startWaiting(&alice_, note('a')));
  callers.push_back(startWaiting(&alice_, note('a')));
  callers.push_back(startWaiting(&bob_, note('b')));
  first.open();
  for (auto it = callers.begin(); it != callers.end(); ++it) {
    if (it - callers.begin() != 1) it->join();
  }
  EXPECT_THAT(order, ElementsAre('b', 'a', 'a'));
  door.open();
}

TEST_F(SchedulerTest, DeadlineAndCancellationEndTheWaiting) {
  Door door;
  std::vector<std::jthread> callers;
  for (int i = 0; i < 2; ++i) callers.push_back(start(&alice_, [&] { door.pass(); }));
  door.awaitWaiting(2);
  const auto never = [] { FAIL() << "ran although it was given up"; };
  const Status late =
      scheduler_.run(Priority::LOW, &bob_, Clock::now() + std::chrono::milliseconds(10), {}, never);
  EXPECT_EQ(late.code(), ResultCode::MISSED_DEADLINE_TRANSIENT);
  EXPECT_THAT(late.message(), HasSubstr("waited for its turn"));

  std::stop_source source;
  std::jthread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    source.request_stop();
  });
  const Status cancelled =
      scheduler_.run(Priority::LOW, &bob_, TimePoint::max(), source.get_token(), never);
  EXPECT_EQ(cancelled.code(), ResultCode::OP_FAILED);
  EXPECT_THAT(cancelled.message(), HasSubstr("cancelled"));
  door.open();
  callers.clear();
  // What was given up does not block what comes after it.
  EXPECT_TRUE(scheduler_.run(Priority::LOW, &bob_, {}, {}, [] {}).ok());
}

}  // namespace
}  // namespace halyard::hal
