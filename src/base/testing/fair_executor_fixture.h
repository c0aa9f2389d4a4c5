// The fixture of the FairExecutor's tests.
// Thread safety: the test's thread, except Gate and Log: any thread. Ownership: owns the executor.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/fair_executor.h"

namespace halyard::testing {

using std::chrono::milliseconds;
using LanePtr = std::shared_ptr<FairExecutor::Lane>;

// Keeps jobs waiting until it opens.
class Gate {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    ++inside_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    --inside_;
  }
  void awaitInside(unsigned count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return inside_ >= count; });
  }
  unsigned inside() {
    const std::lock_guard lock(mutex_);
    return inside_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  unsigned inside_ = 0;
  bool open_ = false;
};

// Collects the order in which jobs run.
class Log {
 public:
  void add(const std::string& entry) {
    const std::lock_guard lock(mutex_);
    entries_.push_back(entry);
    changed_.notify_all();
  }
  std::vector<std::string> first(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return entries_.size() >= count; });
    return {entries_.begin(), entries_.begin() + static_cast<ptrdiff_t>(count)};
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> entries_;
};

template <typename Predicate>
bool becomes(Predicate predicate) {
  for (int i = 0; i < 20'000; ++i) {
    if (predicate()) return true;
    std::this_thread::sleep_for(milliseconds(1));
  }
  return false;
}

class FairExecutorTest : public ::testing::Test {
 protected:
  void start(unsigned threads, unsigned mostThreads) {
    executor_ = std::make_unique<FairExecutor>(FairExecutor::Options{threads, mostThreads});
  }
  void TearDown() override {
    gate_.open();
    executor_ = nullptr;
  }
  LanePtr lane(const FairExecutor::LaneLimits& limits = {}) { return executor_->openLane(limits); }
  // A job of a lane of its own that keeps a thread until the gate opens.
  void occupy(ThreadClass threadClass = ThreadClass::NORMAL) {
    const unsigned before = gate_.inside();
    postGated(lane(), threadClass);
    gate_.awaitInside(before + 1);
  }
  void postGated(const LanePtr& lane, ThreadClass threadClass = ThreadClass::NORMAL) {
    ASSERT_TRUE(executor_->post(lane, threadClass, [this] { gate_.pass(); }).ok());
  }
  void post(const LanePtr& lane, const std::string& entry,
            ThreadClass threadClass = ThreadClass::NORMAL) {
    ASSERT_TRUE(executor_->post(lane, threadClass, [this, entry] { log_.add(entry); }).ok());
  }
  // A call of run that is expected to succeed, in a thread of its own.
  std::jthread call(const LanePtr& lane, std::function<void()> work) {
    return std::jthread([this, lane, work = std::move(work)] {
      EXPECT_TRUE(executor_->run(lane, ThreadClass::BACKGROUND, {}, {}, work).ok());
    });
  }
  // The same; returns when the work waits for its turn.
  std::jthread callWaiting(const LanePtr& lane, std::function<void()> work) {
    const size_t before = executor_->waiting();
    std::jthread thread = call(lane, std::move(work));
    EXPECT_TRUE(becomes([&] { return executor_->waiting() > before; }));
    return thread;
  }

  Gate gate_;
  Log log_;
  std::unique_ptr<FairExecutor> executor_;
};

}  // namespace halyard::testing
