// Tests of this process's part of a trace over several processes.
#include "trace/trace_collection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace halyard::trace {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

class FakeDriver final : public DriverSource {
 public:
  explicit FakeDriver(std::string name) : name_(std::move(name)) {}
  std::string traceName() const override { return name_; }
  int64_t traceProcessId() const override { return 99; }
  Status beginTrace(const SharedMemoryPtr& memory) override {
    ++begins;
    if (!answer.ok()) return answer;
    recorder.set(std::shared_ptr<Recorder>(Recorder::over(memory).value()));
    return okStatus();
  }
  void endTrace() override {
    ++ends;
    recorder.set(nullptr);
  }
  void work() {
    const RecorderUse use(recorder.get());
    const Scope scope(Layer::DRIVER, Phase::EXECUTION, "work");
  }

  Status answer;
  ClientRecorder recorder;
  // One thread may begin a trace while another ends the previous one.
  std::atomic<int> begins = 0;
  std::atomic<int> ends = 0;

 private:
  const std::string name_;
};

size_t slices(const std::vector<Record>& records) {
  size_t count = 0;
  for (const Record& record : records) count += record.kind == Record::SLICE ? 1 : 0;
  return count;
}

TEST(TraceCollectionTest, DriversRecordWhileATraceRuns) {
  TraceCollection collection;
  const auto early = std::make_shared<FakeDriver>("early");
  const auto late = std::make_shared<FakeDriver>("late");
  const auto old = std::make_shared<FakeDriver>("old");
  old->answer = opFailed("it does not implement trace");
  const uint32_t peer = collection.add(early);
  EXPECT_EQ(early->begins, 0);
  EXPECT_FALSE(collection.records().started);
  ASSERT_TRUE(collection.start(100).ok());
  EXPECT_THAT(collection.start(100).message(), HasSubstr("a trace is running already"));
  EXPECT_NE(collection.add(late), peer);
  collection.add(old);
  { const Scope scope(Layer::RUNTIME, Phase::EXECUTION, "x"); }
  early->work();
  late->work();
  late->work();
  ASSERT_TRUE(collection.stop().ok());
  EXPECT_THAT(collection.stop().message(), HasSubstr("no trace is running"));
  early->work();
  EXPECT_EQ(early->ends, 1);
  EXPECT_EQ(late->ends, 1);
  const TraceRecords records = collection.records();
  EXPECT_FALSE(records.running);
  EXPECT_LT(records.begin, records.end);
  EXPECT_EQ(slices(records.records), 1u);
  ASSERT_THAT(records.drivers, SizeIs(3));
  EXPECT_EQ(records.drivers[0].peer, peer);
  EXPECT_EQ(slices(records.drivers[0].records), 1u);
  EXPECT_EQ(slices(records.drivers[1].records), 2u);
  EXPECT_EQ(records.drivers[2].name, "old");
  EXPECT_THAT(records.drivers[2].status.message(), HasSubstr("does not implement"));
}

TEST(TraceCollectionTest, WhatACrashedDriverHasRecordedIsThere) {
  TraceCollection collection;
  ASSERT_TRUE(collection.start(0).ok());
  {
    const auto driver = std::make_shared<FakeDriver>("crashes");
    collection.add(driver);
    driver->work();
  }
  ASSERT_TRUE(collection.stop().ok());
  EXPECT_EQ(slices(collection.records().drivers[0].records), 1u);
}

TEST(TraceCollectionTest, ANewTraceForgetsTheLast) {
  TraceCollection collection;
  const auto driver = std::make_shared<FakeDriver>("npu");
  collection.add(driver);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(collection.start(100).ok());
    { const Scope scope(Layer::RUNTIME, Phase::EXECUTION, "x"); }
    driver->work();
    ASSERT_TRUE(collection.stop().ok());
    const TraceRecords records = collection.records();
    EXPECT_EQ(slices(records.records), 1u);
    ASSERT_THAT(records.drivers, SizeIs(1));
    EXPECT_EQ(slices(records.drivers[0].records), 1u);
  }
  EXPECT_THAT(collection.start(Recorder::kMostCapacity + 1).message(), HasSubstr("at most"));
}

TEST(TraceCollectionTest, StartsStopsAndDriversAtOnce) {
  TraceCollection collection;
  std::atomic<bool> stop = false;
  std::thread drivers([&] {
    while (!stop) {
      const auto driver = std::make_shared<FakeDriver>("comes and goes");
      collection.add(driver);
      driver->work();
    }
  });
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(collection.start(16).ok());
    (void)collection.records();
    ASSERT_TRUE(collection.stop().ok());
  }
  stop = true;
  drivers.join();
}

}  // namespace
}  // namespace halyard::trace
