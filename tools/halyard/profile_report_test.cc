#include "tools/halyard/profile_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halyard::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kProfile = R"({
  "version": 1, "running": false, "duration_ns": 1000000,
  "operations": [
    {"index": 0, "type": "CONV_2D", "device": "npu", "process": 71, "partition": 0, "count": 5,
     "median_ns": 250000, "min_ns": 1, "total_ns": 1250000, "share": 0.25, "bytes": 1e6,
     "flop": 5e6, "sizes_unknown": false},
    {"index": 1, "type": "ADD", "device": "nnapi-reference", "process": 42, "partition": 1,
     "count": 5, "median_ns": 750000, "min_ns": 1, "total_ns": 3750000, "share": 0.75,
     "bytes": null, "flop": null, "sizes_unknown": true},
    {"index": 2, "type": "RELU", "device": "opaque", "process": null, "partition": 2, "count": 0,
     "median_ns": null, "min_ns": null, "total_ns": null, "share": null, "bytes": 8, "flop": null,
     "sizes_unknown": false}],
  "partitions": [
    {"index": 0, "device": "npu", "process": 71, "operations": 1, "count": 5, "median_ns": 300000,
     "device_median_ns": 260000, "operations_median_ns": 250000, "overhead_median_ns": 40000}],
  "phases": [{"starting_mark": "x", "executions": 8, "counted_executions": 5, "layers": {
    "LA": {"PE": {"total_ns": 9, "self_ns": 1000000, "counted_ns": 9},
           "PO": {"total_ns": 9, "self_ns": 9000000, "counted_ns": 9}},
    "LR": {"PC": {"total_ns": 9, "self_ns": 2000000, "counted_ns": 9},
           "PE": {"total_ns": 9, "self_ns": 5000000, "counted_ns": 9},
           "PIO": {"total_ns": 9, "self_ns": 1500000, "counted_ns": 9}}}}],
  "processes": [
    {"process": 42, "name": "app", "driver": false, "records": 9, "lost": 7, "rejected": 0,
     "cut": 0, "problem": null},
    {"process": 73, "name": "opaque", "driver": true, "records": 0, "lost": 0, "rejected": 2,
     "cut": 1, "problem": "OP_FAILED: it does not implement trace"}]
})";

TEST(ProfileReportTest, ShowsWhatTakesMostFirst) {
  const auto report = profileReport(kProfile, {});
  ASSERT_TRUE(report.ok()) << report.status().toString();
  const std::string& text = *report;
  EXPECT_LT(text.find("#1 ADD"), text.find("#0 CONV_2D"));
  EXPECT_LT(text.find("#0 CONV_2D"), text.find("#2 RELU"));
  EXPECT_THAT(text, HasSubstr("#0 CONV_2D  npu (71)              5      250 us  25.0 %  "
                              "20 GFLOP/s  4 GB/s"));
  EXPECT_THAT(text, HasSubstr("1 of 3 operations have no times of their own"));
  EXPECT_THAT(text, HasSubstr("300 us  260 us        250 us          40 us"));
  EXPECT_THAT(text, HasSubstr("8 executions, 5 of them counted"));
  EXPECT_THAT(text, HasSubstr("opaque (73) recorded nothing: OP_FAILED: it does not implement"));
  EXPECT_THAT(text, HasSubstr("app (42): there was no room for 7 slices"));
  EXPECT_THAT(text, HasSubstr("opaque (73): 3 slices contradict the calls"));
}

TEST(ProfileReportTest, LayersWithoutTimesAreDashesAndTheCpuIsLeftOut) {
  const std::string text = profileReport(kProfile, {}).value();
  const auto lineOf = [&](const std::string& start) {
    const size_t begin = text.find("\n" + start) + 1;
    return text.substr(begin, text.find('\n', begin) - begin);
  };
  EXPECT_THAT(lineOf("runtime"),
              ::testing::MatchesRegex("runtime +- +- +2.00 +1.50 +3.50 +- +5.00 +- +7.00"));
  EXPECT_THAT(lineOf("driver"), ::testing::MatchesRegex("driver( +-)+"));
  EXPECT_THAT(text, Not(HasSubstr("\nCPU ")));
  EXPECT_THAT(lineOf("total"),
              ::testing::MatchesRegex("total +- +- +2.00 +1.50 +4.50 +- +6.00 +- +8.00"));
}

TEST(ProfileReportTest, LongModelsAreCut) {
  ProfileReportOptions options;
  options.mostOperations = 1;
  EXPECT_THAT(profileReport(kProfile, options).value(), HasSubstr("and 2 more (--all)"));
  options.everyOperation = true;
  const std::string text = profileReport(kProfile, options).value();
  EXPECT_THAT(text, Not(HasSubstr("more (--all)")));
  EXPECT_LT(text.find("#0 CONV_2D"), text.find("#1 ADD"));
}

TEST(ProfileReportTest, WhatIsNoProfileIsAnError) {
  for (const char* json : {"", "{}", "[]", R"({"operations": 7})"}) {
    EXPECT_THAT(profileReport(json, {}).status().message(), HasSubstr("cannot be read")) << json;
  }
}

}  // namespace
}  // namespace halyard::cli
