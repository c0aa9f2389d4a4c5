// Tests of the conversion from records to slices, mainly records of hostile drivers.
#include "trace/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "trace/timeline_for_test.h"

namespace halyard::trace {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TraceRecords traceWithDriver(std::vector<Record> own, std::vector<Record> drivers) {
  TraceRecords trace;
  trace.started = true;
  trace.begin = 1;
  trace.end = 10'000;
  trace.records = std::move(own);
  DriverRecords& driver = trace.drivers.emplace_back();
  driver.name = "npu";
  driver.processId = 77;
  driver.peer = 5;
  driver.records = std::move(drivers);
  return trace;
}

TEST(TimelineTest, SlicesNestByTimeAndInherit) {
  TraceRecords trace;
  Record outer = recordOf("[NN_LA_PE]run", 100, 500);
  outer.context = 9;
  trace.records = {recordOf("[NN_LU_PU]copy", 160, 180), recordOf("[NN_LR_PE]compute", 150, 400),
                   recordOf("[NN_LR_PR]shapes", 400, 420), outer,
                   recordOf("[NN_LC_PCO]ADD", 100, 200, 2)};
  trace.records[4].operation = 3;
  trace.records[4].subgraph = 2;
  const Timeline timeline = makeTimeline(trace, "app", 42);
  ASSERT_THAT(timeline.processes, SizeIs(1));
  EXPECT_EQ(timeline.processes[0].processId, 42);
  ASSERT_THAT(timeline.processes[0].threads, SizeIs(2));
  const std::vector<Slice>& slices = timeline.processes[0].threads[0].slices;
  ASSERT_THAT(slices, SizeIs(4));
  EXPECT_EQ(slices[0].parent, Slice::kNone);
  EXPECT_EQ(slices[1].parent, 0u);
  EXPECT_EQ(slices[2].parent, 1u);
  EXPECT_EQ(slices[3].parent, 0u);
  EXPECT_EQ(slices[2].layer, Layer::RUNTIME);
  EXPECT_EQ(slices[2].phase, Phase::EXECUTION);
  EXPECT_EQ(slices[2].context, 9u);
  EXPECT_EQ(sliceDetail(timeline.processes[0].threads[1].slices[0]), "ADD #3 of subgraph 1");
  EXPECT_TRUE(checkNesting(timeline.processes[0]).ok());
}

TEST(TimelineTest, OfSlicesOfTheSameTimeTheOneThatEndsLaterIsOutside) {
  TraceRecords trace;
  // Scopes write a record when they end, so the inner one comes first.
  trace.records = {recordOf("[NN_LC_PE]inner", 100, 200), recordOf("[NN_LR_PE]outer", 100, 200)};
  const Timeline timeline = makeTimeline(trace, "app", 42);
  const std::vector<Slice>& slices = timeline.processes[0].threads[0].slices;
  EXPECT_EQ(slices[0].mark.detail, "outer");
  EXPECT_EQ(slices[1].parent, 0u);
}

TEST(TimelineTest, ADriversSlicesLieWithinTheWaitForIt) {
  const Timeline timeline = makeTimeline(
      traceWithDriver(
          {waitOf("[NN_LI_PE]execute", 1000, 2000, 5), waitOf("[NN_LI_PE]execute", 3000, 4000, 5),
           waitOf("[NN_LI_PE]execute", 6000, 7000, 4)},
          {recordOf("[NN_LD_PE]within", 1100, 1900), recordOf("[NN_LD_PE]early", 1, 900),
           recordOf("[NN_LD_PE]over", 900, 2100), recordOf("[NN_LD_PE]second", 1900, 4100, 2),
           recordOf("[NN_LD_PE]another's", 6100, 6200)}),
      "app", 42);
  ASSERT_THAT(timeline.processes, SizeIs(2));
  const ProcessTimeline& driver = timeline.processes[1];
  EXPECT_EQ(driver.rejected, 2u);
  EXPECT_EQ(driver.cut, 2u);
  ASSERT_THAT(driver.threads, SizeIs(2));
  EXPECT_EQ(driver.threads[0].slices[0].mark.detail, "over");
  EXPECT_EQ(driver.threads[0].slices[0].begin, 1000u);
  EXPECT_EQ(driver.threads[0].slices[0].end, 2000u);
  EXPECT_EQ(driver.threads[0].slices[1].mark.detail, "within");
  EXPECT_EQ(driver.threads[1].slices[0].begin, 3000u);
  EXPECT_EQ(driver.threads[1].slices[0].end, 4000u);
}

TEST(TimelineTest, AfterALaunchTheDriverMayGoOn) {
  Record launch = waitOf("[NN_LI_PE]executeFenced", 1000, 1100, 5);
  launch.openEnded = 1;
  const Timeline timeline = makeTimeline(
      traceWithDriver({launch}, {recordOf("[NN_LD_PE]execute", 1500, 2500)}), "app", 42);
  EXPECT_EQ(timeline.processes[1].rejected, 0u);
  EXPECT_EQ(timeline.processes[1].cut, 0u);
}

TEST(TimelineTest, AHostileDriversRecordsDoNoHarm) {
  Record wait = waitOf("[NN_LI_PE]execute", 1000, 2000, 5);
  wait.context = 7;
  std::vector<Record> records;
  Record record = recordOf("[NN_LD_PE]x", 1100, 1200);
  record.layer = 200;
  records.push_back(record);
  record = recordOf("[NN_LD_PE]x", 1100, 1200);
  record.phase = 13;
  records.push_back(record);
  record = recordOf("[NN_LD_PE]x", 1100, 1200);
  record.variant = 3;
  records.push_back(record);
  record = recordOf("[NN_LD_PE]x", 1100, 1200);
  record.kind = 9;
  records.push_back(record);
  records.push_back(recordOf("[NN_LD_PE]x", 1200, 1100));
  records.push_back(recordOf("[NN_LR_PE]the runtime's", 1100, 1200));
  record = recordOf("[NN_LD_PE]", 1100, UINT64_MAX);
  record.text.fill('\xff');
  record.text[0] = '\n';
  record.text[1] = '"';
  record.operation = INT32_MIN;
  record.context = 8;
  record.peer = 4;
  records.push_back(record);
  const Timeline timeline = makeTimeline(traceWithDriver({wait}, records), "app", 42);
  const ProcessTimeline& driver = timeline.processes[1];
  EXPECT_EQ(driver.rejected, 6u);
  ASSERT_THAT(driver.threads, SizeIs(1));
  ASSERT_THAT(driver.threads[0].slices, SizeIs(1));
  const Slice& slice = driver.threads[0].slices[0];
  EXPECT_THAT(slice.mark.detail, HasSubstr("?\"??"));
  EXPECT_EQ(slice.mark.detail.size(), Record::kTextBytes);
  EXPECT_EQ(slice.end, 2000u);
  EXPECT_EQ(slice.operation, -1);
  EXPECT_EQ(slice.context, 0u);
  EXPECT_EQ(slice.peer, 0u);
}

TEST(TimelineTest, ADriverCannotBeThisProcessOrAnother) {
  TraceRecords trace = traceWithDriver({}, {});
  trace.drivers[0].processId = 42;
  trace.drivers.push_back(trace.drivers[0]);
  trace.drivers[1].peer = 6;
  trace.drivers[1].processId = -3;
  const Timeline timeline = makeTimeline(trace, "app", 42);
  EXPECT_NE(timeline.processes[1].processId, 42);
  EXPECT_GT(timeline.processes[2].processId, 0);
  EXPECT_NE(timeline.processes[1].processId, timeline.processes[2].processId);
}

// With as many steps as records times waits, this test takes minutes. With memory per record for
// all these waits, it does not end.
TEST(TimelineTest, RecordsThatSpanAllTimeCostTheLogarithmOfTheWaits) {
  constexpr uint64_t kMany = 1 << 18;
  std::vector<Record> waits;
  for (uint64_t i = 0; i < kMany; ++i) {
    waits.push_back(waitOf("[NN_LI_PE]execute", 1000 + 10 * i, 1004 + 10 * i, 5));
  }
  constexpr uint64_t kLongest = kMany / 3;
  waits[kLongest].end += 3;
  const std::vector<Record> records(kMany, recordOf("[NN_LD_PE]all", 1, UINT64_MAX));
  const Timeline timeline = makeTimeline(traceWithDriver(waits, records), "app", 42);
  const ProcessTimeline& driver = timeline.processes[1];
  ASSERT_THAT(driver.threads, SizeIs(1));
  EXPECT_EQ(driver.threads[0].slices[0].begin, waits[kLongest].begin);
  EXPECT_EQ(driver.threads[0].slices[0].end, waits[kLongest].end);
  // The slices nest in each other.
  EXPECT_EQ(driver.cut + driver.rejected, 2 * kMany - driver.threads[0].slices.size());
}

TEST(TimelineTest, TheWaitThatHasMostOfASliceIsFoundAsByLookingAtAll) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    std::vector<Record> waits;
    for (uint64_t at = 1; waits.size() < 1 + random() % 40;) {
      at += 1 + random() % 20;
      const uint64_t begin = at;
      at += random() % 20;
      waits.push_back(waitOf("[NN_LI_PE]execute", begin, at, 5));
    }
    const uint64_t begin = 1 + random() % 900;
    const Record record = recordOf("[NN_LD_PE]x", begin, begin + random() % 300);
    std::optional<std::pair<uint64_t, uint64_t>> best;
    for (const Record& wait : waits) {
      const uint64_t from = std::max(wait.begin, record.begin);
      const uint64_t to = std::min(wait.end, record.end);
      if (from <= to && (!best || to - from > best->second - best->first)) best.emplace(from, to);
    }
    const Timeline timeline = makeTimeline(traceWithDriver(waits, {record}), "app", 42);
    const std::vector<ThreadTimeline>& threads = timeline.processes[1].threads;
    ASSERT_EQ(threads.size(), best ? 1u : 0u);
    if (!best) continue;
    EXPECT_EQ(threads[0].slices[0].begin, best->first);
    EXPECT_EQ(threads[0].slices[0].end, best->second);
  }
}

TEST(TimelineTest, SlicesThatNestTooDeepAreLeftOut) {
  std::vector<Record> records;
  constexpr uint64_t kDeep = 1000;
  for (uint64_t i = 0; i < kDeep; ++i) {
    records.push_back(recordOf("[NN_LO_PE]deep", 100 + i, 9000 - i));
  }
  records.push_back(recordOf("[NN_LD_PE]behind", 9001, 9002));
  const Timeline timeline = makeTimeline(
      traceWithDriver({waitOf("[NN_LI_PE]execute", 1, 10'000, 5)}, records), "app", 42);
  const ProcessTimeline& driver = timeline.processes[1];
  const std::vector<Slice>& slices = driver.threads[0].slices;
  ASSERT_THAT(slices, SizeIs(129));
  EXPECT_EQ(driver.rejected, kDeep - 128);
  EXPECT_EQ(slices[127].parent, 126u);
  EXPECT_EQ(slices[128].mark.detail, "behind");
  EXPECT_EQ(slices[128].parent, Slice::kNone);
}

// For any bytes, the slices nest and lie within the calls.
TEST(TimelineTest, RandomRecordsBecomeSlicesThatNest) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<Record> records(200);
    for (Record& record : records) {
      for (size_t i = 0; i < sizeof record; ++i) {
        reinterpret_cast<uint8_t*>(&record)[i] = static_cast<uint8_t>(random());
      }
      if (random() % 8 == 0) continue;
      record.begin = random() % 5000;
      record.end = record.begin + random() % 1000;
      record.thread = static_cast<uint32_t>(random() % 3);
      record.layer = random() % 2 == 0 ? 3 : 4;
      record.phase = random() % 13;
      record.variant = random() % 3;
      record.kind = Record::SLICE;
    }
    const Timeline timeline = makeTimeline(
        traceWithDriver({waitOf("[NN_LI_PE]a", 500, 1500, 5), waitOf("[NN_LI_PE]b", 2500, 4000, 5)},
                        records),
        "app", 42);
    for (const ThreadTimeline& thread : timeline.processes[1].threads) {
      for (const Slice& slice : thread.slices) {
        ASSERT_LE(slice.begin, slice.end);
        const bool first = slice.begin >= 500 && slice.end <= 1500;
        const bool second = slice.begin >= 2500 && slice.end <= 4000;
        ASSERT_TRUE(first || second);
        if (slice.parent == Slice::kNone) continue;
        const Slice& outer = thread.slices[slice.parent];
        ASSERT_GE(slice.begin, outer.begin);
        ASSERT_LE(slice.end, outer.end);
      }
    }
  }
}

}  // namespace
}  // namespace halyard::trace
