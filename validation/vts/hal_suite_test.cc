// Tests the area "hal" against a driver of each HAL version, in the process of the check and in a
// process of its own. No check fails, and the skipped checks are known.
#include "validation/vts/hal_suite.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "validation/kit/runner.h"
#include "validation/vts/suite_target_for_test.h"

namespace halyard::validation {
namespace {

// Runs the checks whose names begin with `prefix`, except those of every operation. The tests
// validate_* run these.
Report run(const TargetSpec& target, std::string_view prefix = "") {
  const Suite suites[] = {{"hal", "", listHal}};
  auto listed = listChecks(suites, target, Plan());
  EXPECT_TRUE(listed.ok()) << listed.status().toString();
  if (!listed.ok()) return {};
  std::vector<ListedCheck> checks;
  for (ListedCheck& one : *listed) {
    const bool isOfOperation = one.check.name.starts_with("default_inputs/");
    if (one.check.name.starts_with(prefix) && !isOfOperation) checks.push_back(std::move(one));
  }
  RunSettings settings;
  settings.processes = 2;
  auto report = runChecks(target, checks, Expectations(), settings);
  EXPECT_TRUE(report.ok()) << report.status().toString();
  return report.ok() ? *report : Report();
}

void expectNothingBad(const Report& report) {
  EXPECT_TRUE(report.passed()) << summaryText(report);
  for (const CheckRecord& record : report.records) {
    EXPECT_FALSE(isBad(record.outcome)) << failureText(record);
  }
}

std::set<std::string> skipReasons(const Report& report) {
  std::set<std::string> reasons;
  for (const CheckRecord& record : report.records) {
    if (record.outcome == Outcome::SKIPPED) reasons.insert(record.reason);
  }
  return reasons;
}

class HalSuite : public ::testing::TestWithParam<Served> {};

TEST_P(HalSuite, FindsNothing) {
  const bool hasCache = GetParam().version >= HalVersion::V1_2;
  const SuiteTarget target(GetParam(),
                           hasCache ? R"(, "cache": {"model_files": 2, "data_files": 3})" : "");
  const Report report = run(target.spec());
  expectNothingBad(report);
  // The driver supports the models of all checks. Only these reasons to skip remain.
  std::set<std::string> expected;
  if (GetParam().version >= HalVersion::V1_2) expected.insert("the driver caches compilations");
  if (GetParam().place == Place::IN_PROCESS) {
    expected.insert("the driver has no process of its own");
  }
  EXPECT_EQ(skipReasons(report), expected);
  EXPECT_GT(report.count(Outcome::PASSED), 200u);
}

INSTANTIATE_TEST_SUITE_P(EveryVersion, HalSuite, ::testing::ValuesIn(everyServed()), servedName);

// Checks of drivers that cache nothing.
class HalSuiteWithoutCache : public ::testing::TestWithParam<Served> {};

TEST_P(HalSuiteWithoutCache, FindsNothing) {
  if (GetParam().version < HalVersion::V1_2) return;  // these versions have no caches
  const SuiteTarget target(GetParam());
  const Report report = run(target.spec(), "cache/");
  expectNothingBad(report);
  EXPECT_EQ(skipReasons(report), std::set<std::string>{"the driver does not cache compilations"});
  EXPECT_GE(report.count(Outcome::PASSED), 4u);
}

INSTANTIATE_TEST_SUITE_P(EveryVersion, HalSuiteWithoutCache, ::testing::ValuesIn(everyServed()),
                         servedName);

// Checks of executions and buffers, for a driver with memory of its own.
class HalSuiteWithOwnMemory : public ::testing::TestWithParam<Served> {};

TEST_P(HalSuiteWithOwnMemory, FindsNothing) {
  const SuiteTarget target(GetParam(), R"(, "own_memory": {})");
  constexpr std::pair<std::string_view, HalVersion> kParts[] = {{"execute/", HalVersion::V1_0},
                                                                {"burst/", HalVersion::V1_2},
                                                                {"memory/", HalVersion::V1_3},
                                                                {"fenced/", HalVersion::V1_3}};
  for (const auto& [prefix, since] : kParts) {
    if (GetParam().version < since) continue;
    const Report report = run(target.spec(), prefix);
    expectNothingBad(report);
    EXPECT_TRUE(skipReasons(report).empty());
    EXPECT_GE(report.count(Outcome::PASSED), 5u) << prefix;
  }
}

INSTANTIATE_TEST_SUITE_P(EveryVersion, HalSuiteWithOwnMemory, ::testing::ValuesIn(everyServed()),
                         servedName);

}  // namespace
}  // namespace halyard::validation
