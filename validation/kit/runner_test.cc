// Tests checks that pass, fail, hang and crash, in the check's process and in the driver's.
#include "validation/kit/runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <thread>

#include "hal/testing/test_device.h"
#include "test_definitions.h"

namespace halyard::validation {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

TargetSpec testDriver() {
  hal::Manifest manifest;
  manifest.path = "/nowhere/test.json";
  manifest.name = "test-driver";
  manifest.version = "1";
  manifest.target = HALYARD_TEST_DRIVER_PATH;
  TargetSpec target;
  target.name = manifest.name;
  target.manifest = manifest;
  return target;
}

ListedCheck check(std::string name, std::function<CheckResult(Target&)> run) {
  ListedCheck one;
  one.area = "test";
  one.check.name = std::move(name);
  one.check.what = "it works";
  one.check.run = std::move(run);
  return one;
}

// Makes the driver add 1 to `first` and to 1.
Status addOnDriver(Target& target, float first) {
  HALYARD_ASSIGN_OR_RETURN(const auto device, target.device());
  HALYARD_ASSIGN_OR_RETURN(const auto prepared,
                           device->prepareModel(validated(hal::testing::addModel(2)).value(), {}));
  const float a[] = {first, 1};
  const float b[] = {1, 1};
  float out[2] = {};
  HALYARD_RETURN_IF_ERROR(
      prepared->executeSynchronously(hal::testing::pointerRequest(a, b, out, 2), {}).status);
  return out[1] == 2 ? okStatus() : opFailed("1 + 1 is {}", out[1]);
}

Report run(const std::vector<ListedCheck>& checks, const TargetSpec& target,
           const Expectations& expectations = Expectations(), size_t maxBad = 0) {
  RunSettings settings;
  settings.maxBad = maxBad;
  settings.repeat = [](const CheckRecord& record) { return "again " + record.id(); };
  auto report = runChecks(target, checks, expectations, settings);
  EXPECT_TRUE(report.ok()) << report.status().toString();
  return report.ok() ? *report : Report();
}

const ListedCheck& passing() {
  static const ListedCheck kCheck =
      check("passes", [](Target& target) -> CheckResult { return addOnDriver(target, 2); });
  return kCheck;
}

TEST(RunChecks, KeepsWhatWasMeasured) {
  const Report report = run({check("measures",
                                   [](Target&) {
                                     CheckResult result = CheckResult::passed("well");
                                     result.figures = {{"b_ms", 0.5}, {"a", 1.0 / 0.0}, {"c", 3}};
                                     return result;
                                   })},
                            testDriver());
  ASSERT_EQ(report.records.size(), 1u);
  ASSERT_EQ(report.records[0].figures.size(), 2u) << "an infinity is no figure";
  EXPECT_EQ(report.records[0].figures[0].name, "b_ms");
  EXPECT_EQ(report.records[0].figures[0].value, 0.5);
  EXPECT_EQ(report.records[0].figures[1].name, "c");
}

TEST(RunChecks, TellsOutcomesApart) {
  ListedCheck hanging = check("hangs", [](Target&) -> CheckResult {
    std::this_thread::sleep_for(1h);
    return okStatus();
  });
  hanging.check.limit = 300ms;
  const Report report = run(
      {passing(), check("fails", [](Target&) -> CheckResult { return opFailed("is 5"); }),
       check("skips", [](Target&) { return CheckResult::skipped("none of it"); }), hanging,
       check("crashes",
             [](Target&) -> CheckResult {
               (void)!::write(STDERR_FILENO, "last words\n", 11);
               ::abort();
             }),
       check("throws", [](Target&) -> CheckResult { throw std::runtime_error("oh"); }), passing()},
      testDriver());
  ASSERT_EQ(report.records.size(), 7u);
  EXPECT_EQ(report.device, "test-driver");
  const Outcome expected[] = {Outcome::PASSED, Outcome::FAILED, Outcome::SKIPPED, Outcome::HANG,
                              Outcome::CRASH,  Outcome::FAILED, Outcome::PASSED};
  for (size_t i = 0; i < 7; ++i) {
    EXPECT_EQ(report.records[i].outcome, expected[i]) << i << report.records[i].reason;
  }
  EXPECT_EQ(report.records[1].reason, "OP_FAILED: is 5");
  EXPECT_EQ(report.records[1].repeat, "again test/fails");
  EXPECT_THAT(report.records[4].log, HasSubstr("last words"));
  EXPECT_THAT(report.records[5].reason, HasSubstr("oh"));
  EXPECT_TRUE(report.problems.empty());
}

TEST(RunChecks, ADriverThatCrashesIsACrashWhateverTheCheckSays) {
  const Report report = run({check("driver",
                                   [](Target& target) -> CheckResult {
                                     (void)addOnDriver(target, hal::testing::kAbort);
                                     return okStatus();
                                   }),
                             passing()},
                            testDriver());
  ASSERT_EQ(report.records.size(), 2u);
  EXPECT_EQ(report.records[0].outcome, Outcome::CRASH);
  EXPECT_THAT(report.records[0].reason, HasSubstr("the driver's process"));
  // The next check has a running driver again.
  EXPECT_EQ(report.records[1].outcome, Outcome::PASSED) << report.records[1].reason;
}

TEST(RunChecks, ExpectationsApply) {
  const auto expectations =
      Expectations::parse(R"({"expected_failure": [{"checks": "test/*", "reason": "later"}]})");
  ASSERT_TRUE(expectations.ok());
  const Report report =
      run({check("fails", [](Target&) -> CheckResult { return opFailed("is 5"); }), passing()},
          testDriver(), *expectations);
  EXPECT_EQ(report.records[0].outcome, Outcome::EXPECTED_FAILURE);
  EXPECT_EQ(report.records[1].outcome, Outcome::UNEXPECTED_PASS);
}

TEST(RunChecks, StopsAfterSoManyFailures) {
  const auto failing = check("fails", [](Target&) -> CheckResult { return opFailed("is 5"); });
  const Report report = run({failing, failing, failing, passing()}, testDriver(), {}, 2);
  EXPECT_TRUE(report.stoppedEarly);
  EXPECT_LT(report.records.size(), 4u);
}

TEST(RunChecks, WorksWithADeviceOfThisProcess) {
  TargetSpec cpu;
  cpu.name = "nnapi-reference";
  const Report report = run({passing()}, cpu);
  EXPECT_EQ(report.device, "nnapi-reference");
  EXPECT_EQ(report.records[0].outcome, Outcome::PASSED) << report.records[0].reason;
}

TEST(RunChecks, ADriverThatDoesNotStartIsTheRunsError) {
  TargetSpec missing = testDriver();
  missing.manifest->target = "/nowhere/driver";
  const auto report = runChecks(missing, std::vector<ListedCheck>{passing()}, {}, {});
  EXPECT_EQ(report.status().code(), ResultCode::UNAVAILABLE_DEVICE);
}

TEST(ListChecks, RefusesTwoOfOneName) {
  constexpr Suite kTwice = {"x", "", [](const TargetSpec&, const Plan&) {
                              Check one;
                              one.name = "a";
                              return Result<std::vector<Check>>(std::vector<Check>{one, one});
                            }};
  EXPECT_THAT(listChecks({&kTwice, 1}, testDriver(), {}).status().message(),
              HasSubstr("two checks x/a"));
}

}  // namespace
}  // namespace halyard::validation
