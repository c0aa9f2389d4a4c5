#include "runtime/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "runtime/report/report_json.h"

namespace halyard::runtime {
namespace {

using Json = nlohmann::json;

ReportEvent failure(const std::string& cause) {
  ReportEvent event;
  event.kind = ReportEvent::Kind::PREPARE_FAILED;
  event.device = "acme-npu";
  event.operations = {3};
  event.cause = cause;
  return event;
}

TEST(ReportTest, ARepeatedEventIsCounted) {
  Report report;
  report.add(failure("a"));
  report.add(failure("a"));
  report.add(failure("b"));
  report.add(failure("a"));
  const auto events = report.events();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].count, 2u);
  EXPECT_GT(events[0].unixNanoseconds, 0);
  EXPECT_EQ(events[2].count, 1u);
}

TEST(ReportTest, OfTooManyEventsTheFirstAndTheLastStay) {
  Report report;
  for (int i = 0; i < 1000; ++i) report.add(failure(std::to_string(i)));
  const auto events = report.events();
  ASSERT_EQ(events.size(), Report::kMostEvents);
  EXPECT_EQ(events.front().cause, "0");
  EXPECT_EQ(events.back().cause, "999");
}

TEST(ReportTest, MeasurementsBelongToAPlan) {
  Report report;
  report.addMeasurement(0, 5, 0);  // of no partition
  report.setDecisions({{}, std::vector<PartitionReport>(2), {}});
  report.addMeasurement(1, 100, 8);
  report.addMeasurement(1, 300, 24);
  EXPECT_EQ(report.partitions()[0].executions, 0u);
  EXPECT_EQ(report.partitions()[1].executions, 2u);
  EXPECT_EQ(report.partitions()[1].measuredTotal, 400);
  EXPECT_EQ(report.partitions()[1].measuredLast, 300);
  report.setDecisions({{}, std::vector<PartitionReport>(2), {}});
  EXPECT_EQ(report.partitions()[1].executions, 0u);
}

TEST(ReportTest, DecisionsAreDescribedWhenSomebodyAsks) {
  int described = 0;
  const auto describe = [&described] {
    ++described;
    PartitionReport partition;
    partition.device = "acme-npu";
    OperationReport operation;
    operation.device = "acme-npu";
    return Report::Decisions{{operation}, {partition}, {}};
  };
  {
    Report report;
    report.setDecisionsLater(1, describe);
    CacheRecord cache;
    cache.state = CacheRecord::State::MISS;
    report.setCache(0, cache);
    report.add(failure("no memory"));
    EXPECT_EQ(report.events().size(), 1u);
    EXPECT_EQ(described, 0);
    EXPECT_EQ(report.operations()[0].device, "acme-npu");
    EXPECT_EQ(report.partitions()[0].device, "acme-npu");
    EXPECT_EQ(report.partitions()[0].cache.state, CacheRecord::State::MISS);
    EXPECT_EQ(described, 1);
  }
  Report report;
  report.setDecisionsLater(1, describe);
  report.addMeasurement(0, 5, 0);
  EXPECT_EQ(described, 2);
  EXPECT_EQ(report.partitions()[0].executions, 1u);
  EXPECT_EQ(report.partitions()[0].device, "acme-npu");
  report.setDecisionsLater(1, describe);
  report.setDecisions({{}, std::vector<PartitionReport>(2), {}});
  EXPECT_EQ(report.partitions().size(), 2u);
  EXPECT_EQ(described, 2) << "replaced before anybody asked";
}

TEST(ReportJsonTest, HasEverything) {
  Report report;
  OperationReport operation;
  operation.index = 7;
  operation.type = OperationType::CONV_2D;
  operation.device = "acme-npu";
  operation.partition = 0;
  operation.others = {{"nnapi-reference", "slower"}};
  PartitionReport partition;
  partition.device = "acme-npu";
  partition.operations = {7};
  partition.operationCount = 1;
  partition.predicted = {1500, 20};
  partition.bytesIn = 64;
  report.setDecisions({{operation}, {partition}, {}});
  report.add(failure("no \xff memory"));
  Json json = Json::parse(reportJson(report));
  EXPECT_EQ(json["operations"][0]["type"], "CONV_2D");
  EXPECT_EQ(json["operations"][0]["others"][0]["reason"], "slower");
  EXPECT_EQ(json["partitions"][0]["predicted_ns"]["boundary"], 20);
  EXPECT_TRUE(json["partitions"][0]["measured_mean_ns"].is_null());
  EXPECT_TRUE(json["partitions"][0]["copied_bytes_mean"].is_null());
  EXPECT_EQ(json["events"][0]["kind"], "PREPARE_FAILED");
  EXPECT_EQ(json["partitions"][0]["cache"]["state"], "off");
  CacheRecord cache;
  cache.state = CacheRecord::State::MISS;
  cache.reason = "the driver says \xff";
  cache.bytesWritten = 5;
  cache.compileNs = 7;
  report.setCache(0, cache);
  report.setCache(1, cache);  // of no partition
  report.addMeasurement(0, 1000, 16);
  report.addMeasurement(0, 1000, 0);
  EXPECT_EQ(json["allow_fp16"], false);
  EXPECT_EQ(Json::parse(reportJson(Report(/*relaxed=*/true)))["allow_fp16"], true);
  json = Json::parse(reportJson(report));
  EXPECT_EQ(json["partitions"][0]["measured_mean_ns"], 1000);
  EXPECT_EQ(json["partitions"][0]["copied_bytes_mean"], 8);
  EXPECT_EQ(json["partitions"][0]["copied_bytes_last"], 0);
  EXPECT_EQ(json["partitions"][0]["cache"]["state"], "miss");
  EXPECT_EQ(json["partitions"][0]["cache"]["bytes_written"], 5);
  EXPECT_EQ(json["partitions"][0]["cache"]["compile_ns"], 7);
}

}  // namespace
}  // namespace halyard::runtime
