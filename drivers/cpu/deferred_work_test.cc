// Tests that the first thread to need deferred work does it, once, and that every waiting thread is
// woken.
#include "deferred_work.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <new>
#include <thread>
#include <vector>

namespace halyard::cpudriver {
namespace {

using Clock = WorkLimit::Clock;

TEST(DeferredWorkTest, WithoutWorkThereIsNothingToWaitFor) {
  DeferredWork work;
  EXPECT_TRUE(work.hasSucceeded());
  EXPECT_TRUE(work.finish().ok());
  EXPECT_TRUE(work.await({}).has_value());
}

TEST(DeferredWorkTest, ManyThreadsDoItOnce) {
  constexpr int kThreads = 8;
  DeferredWork work;
  std::atomic<int> times = 0;
  work.set([&] {
    ++times;
    return badState("the one result");
  });
  EXPECT_FALSE(work.hasSucceeded());
  std::latch together(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      together.arrive_and_wait();
      EXPECT_EQ(work.finish().message(), "the one result");
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(times, 1);
  EXPECT_FALSE(work.hasSucceeded());
  EXPECT_EQ(work.await({})->code(), ResultCode::BAD_STATE);
}

TEST(DeferredWorkTest, WaitingEndsWithTheLimitAndTheWorkGoesOn) {
  DeferredWork work;
  std::latch mayEnd(1);
  work.set([&] {
    mayEnd.wait();
    return okStatus();
  });
  const auto soon = [] { return Clock::now() + std::chrono::milliseconds(1); };
  EXPECT_FALSE(work.await({soon(), {}}).has_value());  // no thread does it
  std::thread worker([&] { EXPECT_TRUE(work.finish().ok()); });
  EXPECT_FALSE(work.await({soon(), {}}).has_value());
  std::stop_source client;
  client.request_stop();
  EXPECT_FALSE(work.await({{}, client.get_token()}).has_value());
  mayEnd.count_down();
  EXPECT_TRUE(work.await({Clock::now() + std::chrono::hours(1), {}})->ok());
  EXPECT_TRUE(work.hasSucceeded());
  worker.join();
}

TEST(DeferredWorkTest, WhatNobodyNeedsStops) {
  DeferredWork early;
  early.set([]() -> Status { throw std::bad_alloc(); });
  early.abandon();
  EXPECT_EQ(early.finish().code(), ResultCode::OP_FAILED);  // has not begun

  DeferredWork late;
  std::latch begun(1);
  late.set([&]() -> Status {
    begun.count_down();
    for (;;) checkWorkLimit();
  });
  std::thread worker([&] { EXPECT_EQ(late.finish().code(), ResultCode::OP_FAILED); });
  begun.wait();
  late.abandon();
  worker.join();
  EXPECT_FALSE(late.hasSucceeded());
}

// The limit of the thread that does the work concerns another task.
TEST(DeferredWorkTest, TheWorkHasALimitOfItsOwn) {
  DeferredWork work;
  work.set([] {
    checkWorkLimit();
    return okStatus();
  });
  const WorkLimit over{Clock::now() - std::chrono::seconds(1), {}};
  const WorkLimitScope scope(&over);
  EXPECT_TRUE(work.finish().ok());
}

TEST(DeferredWorkTest, WantOfMemoryIsAnError) {
  DeferredWork work;
  work.set([]() -> Status { throw std::bad_alloc(); });
  EXPECT_EQ(work.finish().code(), ResultCode::OUT_OF_MEMORY);
}

}  // namespace
}  // namespace halyard::cpudriver
