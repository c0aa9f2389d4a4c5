#include "hal/server/worker_threads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace halyard::hal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using LanePtr = std::shared_ptr<WorkerThreads::Lane>;

// What a job waits for, and a test.
class Gate {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
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

class WorkerThreadsTest : public ::testing::Test {
 protected:
  void start(unsigned threads, unsigned mostThreads) {
    workers_ = WorkerThreads::start(threads, mostThreads).value();
  }
  void TearDown() override {
    gate_.open();
    workers_.reset();
  }
  // A job of a lane of its own that keeps a thread until the gate opens.
  void occupy() {
    Gate running;
    ASSERT_TRUE(workers_
                    ->post(workers_->openLane({}), Priority::HIGH,
                           [&running, this] {
                             running.open();
                             gate_.wait();
                           })
                    .ok());
    running.wait();
  }
  void post(const LanePtr& lane, const std::string& entry, Priority priority = Priority::MEDIUM) {
    ASSERT_TRUE(workers_->post(lane, priority, [this, entry] { log_.add(entry); }).ok());
  }

  Gate gate_;
  Log log_;
  Log started_;
  std::unique_ptr<WorkerThreads> workers_;
};

TEST_F(WorkerThreadsTest, LanesTakeTurns) {
  start(1, 1);
  occupy();
  const LanePtr a = workers_->openLane({});
  const LanePtr b = workers_->openLane({});
  const LanePtr c = workers_->openLane({});
  for (const char* entry : {"a1", "a2", "a3", "a4"}) post(a, entry);
  for (const char* entry : {"b1", "b2"}) post(b, entry);
  post(c, "c1");
  gate_.open();
  EXPECT_THAT(log_.first(7), ElementsAre("a1", "b1", "c1", "a2", "b2", "a3", "a4"));
}

TEST_F(WorkerThreadsTest, HigherClassesFirstAndTheLowestNotNever) {
  start(1, 1);
  occupy();  // the first turn
  const LanePtr a = workers_->openLane({});
  const LanePtr b = workers_->openLane({});
  post(a, "low", Priority::LOW);
  post(b, "medium");
  for (int i = 0; i < 10; ++i) post(b, "high", Priority::HIGH);
  gate_.open();
  EXPECT_THAT(log_.first(12), ElementsAre("high", "high", "high", "high", "high", "high", "low",
                                          "high", "high", "high", "high", "medium"));
}

TEST_F(WorkerThreadsTest, AClientThatTakesAllThreadsDoesNotStopOthers) {
  start(2, 8);
  const LanePtr greedy = workers_->openLane({});
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(workers_
                    ->post(greedy, Priority::HIGH,
                           [this] {
                             started_.add("greedy");
                             gate_.wait();
                           })
                    .ok());
  }
  started_.first(2);
  // Each gets a thread although none ever becomes free.
  for (const char* entry : {"b", "c", "d"}) {
    post(workers_->openLane({}), entry, Priority::LOW);
    (void)log_.first(1);
  }
  EXPECT_EQ(log_.first(3).size(), 3u);
  EXPECT_LE(workers_->threads(), 8u);
}

TEST_F(WorkerThreadsTest, ThreadsThatWereAddedEnd) {
  start(1, 8);
  occupy();
  post(workers_->openLane({}), "b");
  log_.first(1);
  EXPECT_GT(workers_->threads(), 1u);
  gate_.open();
  for (int i = 0; i < 20'000 && workers_->threads() > 1; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(workers_->threads(), 1u);
}

TEST_F(WorkerThreadsTest, LimitOfALane) {
  start(1, 1);
  occupy();
  const LanePtr small = workers_->openLane({.queued = 2});
  post(small, "1");
  post(small, "2");
  const Status third = workers_->post(small, Priority::HIGH, [] {});
  EXPECT_EQ(third.code(), ResultCode::RESOURCE_EXHAUSTED_TRANSIENT);
  EXPECT_THAT(third.message(), HasSubstr("2 calls"));
  post(workers_->openLane({}), "another's");
}

TEST_F(WorkerThreadsTest, NoMoreOfALaneRunThanItMay) {
  start(3, 3);
  const LanePtr lane = workers_->openLane({.running = 2});
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(workers_
                    ->post(lane, Priority::MEDIUM,
                           [this, i] {
                             started_.add("running");
                             gate_.wait();
                             log_.add(std::to_string(i));
                           })
                    .ok());
  }
  started_.first(2);
  post(workers_->openLane({}), "other");  // takes the third thread
  EXPECT_THAT(log_.first(1), ElementsAre("other"));
  gate_.open();
  EXPECT_EQ(log_.first(4).size(), 4u);
}

TEST_F(WorkerThreadsTest, ClosedLanesDropWhatWaits) {
  start(1, 1);
  occupy();
  const LanePtr lane = workers_->openLane({});
  auto held = std::make_shared<int>(0);
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(workers_->post(lane, Priority::MEDIUM, [this, held] { log_.add("never"); }).ok());
  }
  workers_->close(lane);
  EXPECT_EQ(workers_->post(lane, Priority::MEDIUM, [] {}).code(), ResultCode::OP_FAILED);
  post(workers_->openLane({}), "after", Priority::LOW);
  gate_.open();
  EXPECT_THAT(log_.first(1), ElementsAre("after"));
  EXPECT_EQ(held.use_count(), 1);
}

TEST_F(WorkerThreadsTest, DrainWaitsForWhatRuns) {
  start(2, 2);
  occupy();
  EXPECT_FALSE(workers_->drain(std::chrono::milliseconds(1)));
  gate_.open();
  EXPECT_TRUE(workers_->drain(std::chrono::seconds(60)));
  EXPECT_EQ(workers_->post(workers_->openLane({}), Priority::MEDIUM, [] {}).code(),
            ResultCode::OP_FAILED);
}

}  // namespace
}  // namespace halyard::hal
