// Tests that the crash checks find drivers that crash, hang and fail under load, and that the
// reference driver passes.
#include "validation/crash/crash_suite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "test_definitions.h"
#include "validation/crash/client_process.h"
#include "validation/kit/runner.h"

namespace halyard::validation {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kEach{300};

class CrashTests : public ::testing::Test {
 protected:
  void SetUp() override {
    setStressProgram(HALYARD_COMMAND);
    std::string pattern = ::testing::TempDir() + "crash-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  void TearDown() override { fs::remove_all(folder_); }

  TargetSpec target(const std::string& personality) {
    std::ofstream(folder_ / "it.personality") << personality;
    std::ofstream(folder_ / "it.json") << fmt::format(
        R"({{"name": "test-it", "version": "1", "hal_version": "1.3", "executable": "{}",)"
        R"( "arguments": ["--personality", "${{manifest_dir}}/it.personality"]}})",
        HALYARD_REFERENCE_DRIVER);
    TargetSpec made;
    made.name = "test-it";
    made.manifest = hal::loadManifest(folder_ / "it.json").value();
    return made;
  }
  // Runs one check, and returns its record.
  CheckRecord run(const TargetSpec& driver, const std::string& test) {
    std::vector<ListedCheck> chosen;
    for (Check& check : crashChecks(kEach, 1)) {
      if (check.name == test) chosen.push_back({"crash", std::move(check)});
    }
    EXPECT_EQ(chosen.size(), 1u) << test;
    auto report = runChecks(driver, chosen, Expectations(), RunSettings());
    EXPECT_TRUE(report.ok()) << report.status().toString();
    return report.value().records.at(0);
  }

  fs::path folder_;
};

// The driver takes only models that compile and run quickly, so that every test reaches some
// rounds.
constexpr char kSmall[] = R"("supports": {"operations": ["IF", "ADD", "EQUAL", "LESS", "MUL"]})";

TEST_F(CrashTests, TheReferenceDriverPassesAll) {
  for (const Check& check : crashChecks(kEach, 1)) {
    // Its result depends on the machine's load, not on the driver.
    if (check.name == "performance-degradation-stress") continue;
    const CheckRecord record = run(target("{}"), check.name);
    EXPECT_EQ(record.outcome, Outcome::PASSED) << check.name << ": " << record.reason << "\n"
                                               << record.log;
  }
}

TEST_F(CrashTests, ADriverThatCrashesUnderLoad) {
  const auto driver = target(R"({"faults": [{"at": "execute", "nth": 9, "do": "crash"}]})");
  const CheckRecord record = run(driver, "parallel-inference-stress");
  EXPECT_TRUE(isBad(record.outcome));
  EXPECT_THAT(record.reason, HasSubstr("signal 11"));
}

TEST_F(CrashTests, ADriverThatCrashesWhenAClientDies) {
  const auto driver =
      target(R"({"faults": [{"at": "prepare", "nth": 3, "do": "fail", "text": "no more"}]})");
  const CheckRecord record = run(driver, "multi-process-model-load-stress-0");
  EXPECT_EQ(record.outcome, Outcome::FAILED);
  EXPECT_THAT(record.reason, HasSubstr("no more"));
}

TEST_F(CrashTests, AFailureBesideAClientThatDies) {
  const auto driver = target(R"({"faults": [{"at": "execute", "nth": 5, "do": "fail"}]})");
  const CheckRecord record = run(driver, "client-early-termination-stress");
  EXPECT_EQ(record.outcome, Outcome::FAILED);
  EXPECT_THAT(record.reason, HasSubstr("the client beside them"));
}

TEST_F(CrashTests, RandomModelsThatAreRefused) {
  const auto driver = target(R"({"faults": [{"at": "prepare", "nth": 2, "do": "fail"}]})");
  EXPECT_EQ(run(driver, "model-load-random-stress").outcome, Outcome::FAILED);
}

TEST_F(CrashTests, OneThatTakesNothingIsSkipped) {
  const auto driver = target(R"({"supports": {"operations": ["RANK"]}})");
  EXPECT_EQ(run(driver, "parallel-inference-stress").outcome, Outcome::SKIPPED);
  EXPECT_EQ(run(driver, "multi-process-inference-stress-0").outcome, Outcome::SKIPPED);
}

TEST_F(CrashTests, ALimitIsThatOfEachCheck) {
  constexpr std::chrono::milliseconds kLimit(300'000);
  for (const Check& check : crashChecks(kEach, 1, kLimit)) EXPECT_EQ(check.limit, kLimit);
  for (const Check& check : crashChecks(kEach, 1)) EXPECT_NE(check.limit, kLimit) << check.name;
}

// The client's own limit finds a client that does not end, before the check's limit does.
TEST_F(CrashTests, AClientThatHangs) {
  StressPlan plan;
  const TargetSpec driver =
      target(std::string("{") + kSmall + R"(, "faults": [{"at": "execute", "do": "stop"}]})");
  plan.manifest = driver.manifest->path.string();
  plan.device = driver.name;
  plan.models = {"branches"};
  plan.duration = kEach;
  auto client = ClientProcess::start(plan);
  ASSERT_TRUE(client.ok()) << client.status().toString();
  const ClientProcess::End end = client.value().wait(std::chrono::milliseconds(1500));
  EXPECT_EQ(end.how, ClientProcess::How::HUNG) << end.text << end.result.failure;
}

TEST_F(CrashTests, PlansThatAreWrong) {
  EXPECT_FALSE(StressPlan::fromJson("{}").ok());
  EXPECT_FALSE(StressPlan::fromJson("[1").ok());
  StressPlan plan;
  plan.device = "nnapi-reference";
  plan.models = {"no such"};
  EXPECT_THAT(runStress(plan).failure, HasSubstr("no workload 'no such'"));
  plan.models = {"random/x"};
  EXPECT_THAT(runStress(plan).failure, HasSubstr("is not random/OPERATIONS"));
  plan.device = "acme-none";
  EXPECT_THAT(runStress(plan).failure, HasSubstr("no device 'acme-none'"));
}

}  // namespace
}  // namespace halyard::validation
