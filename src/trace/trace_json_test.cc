#include "trace/trace_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "trace/timeline_for_test.h"

namespace halyard::trace {
namespace {

TEST(TraceJsonTest, IsWhatPerfettoReads) {
  TraceRecords trace;
  trace.begin = 1'000'000;
  trace.end = 9'000'000;
  trace.lost = 3;
  Record wait = waitOf("[NN_LI_PE]execute", 2'000'500, 3'000'750, 5);
  Record thread;
  thread.kind = Record::THREAD;
  thread.thread = 1;
  thread.text = {'m', 'a', 'i', 'n'};
  trace.records = {wait, thread};
  DriverRecords& driver = trace.drivers.emplace_back();
  driver.name = "npu \"x\"";
  driver.processId = 77;
  driver.peer = 5;
  driver.records = {recordOf("[NN_LD_PCO]CONV_2D", 2'100'000, 2'200'000, 9)};
  driver.records[0].operation = 3;
  DriverRecords& old = trace.drivers.emplace_back();
  old.name = "old";
  old.processId = 78;
  old.peer = 6;
  old.status = opFailed("it does not implement trace");
  const std::string text = traceJson(makeTimeline(trace, "app", 42));
  const auto json = nlohmann::json::parse(text);
  const auto& processes = json["otherData"]["processes"];
  ASSERT_EQ(processes.size(), 3u);
  EXPECT_EQ(processes[0]["lost"], 3);
  EXPECT_TRUE(processes[1]["problem"].is_null());
  EXPECT_EQ(processes[1]["name"], "npu \"x\"");
  EXPECT_THAT(processes[2]["problem"].get<std::string>(),
              ::testing::HasSubstr("it does not implement trace"));
  EXPECT_EQ(json["otherData"]["begin_us"], 1000.0);
  bool sawWait = false;
  bool sawOperation = false;
  bool sawThread = false;
  for (const auto& event : json["traceEvents"]) {
    if (event["name"] == "[NN_LI_PE]execute") {
      sawWait = true;
      EXPECT_EQ(event["ph"], "X");
      EXPECT_EQ(event["pid"], 42);
      EXPECT_DOUBLE_EQ(event["ts"].get<double>(), 2000.5);
      EXPECT_DOUBLE_EQ(event["dur"].get<double>(), 1000.25);
      EXPECT_EQ(event["cat"], "LI,PE");
    }
    if (event["name"] == "[NN_LD_PCO]CONV_2D #3") {
      sawOperation = true;
      EXPECT_EQ(event["pid"], 77);
      EXPECT_EQ(event["tid"], 9);
      EXPECT_EQ(event["args"]["operation"], 3);
    }
    if (event["name"] == "thread_name" && event["args"]["name"] == "main") sawThread = true;
  }
  EXPECT_TRUE(sawWait && sawOperation && sawThread);
}

TEST(TraceJsonTest, AnEmptyTraceIsADocument) {
  const auto json = nlohmann::json::parse(traceJson(makeTimeline({}, "app", 42)));
  EXPECT_EQ(json["traceEvents"].size(), 1u);
}

}  // namespace
}  // namespace halyard::trace
