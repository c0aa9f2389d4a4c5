// Tests of the command line of `halyard validate`: lists, runs, reports and refused arguments.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/testing/command_for_test.h"

namespace halyard::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ValidateTest : public CommandTest {
 protected:
  // A manifest of the reference driver with this personality.
  std::string manifest(const std::string& personality = "{}") const {
    std::ofstream(folder_ + "/personality.json") << personality;
    const std::string path = folder_ + "/driver.json";
    std::ofstream(path) << nlohmann::json{
        {"name", "test-driver"},
        {"version", "1"},
        {"hal_version", "1.3"},
        {"executable", HALYARD_BINARY_DIR "/bin/halyard-driver-reference"},
        {"arguments", {"--personality", "${manifest_dir}/personality.json"}}};
    return path;
  }
  CommandOutcome validate(const std::string& arguments, const std::string& path) const {
    return halyard("validate '" + path + "' " + arguments);
  }
  nlohmann::json json(const std::string& name) const {
    return nlohmann::json::parse(contentOf(folder_ + "/" + name), nullptr, false);
  }
};

TEST_F(ValidateTest, ListsWithoutRunning) {
  const CommandOutcome outcome =
      validate("--list --area hal", manifest(R"({"status": "offline"})"));
  EXPECT_EQ(outcome.exitStatus, 0) << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("hal/info/status@1.3"));
  EXPECT_THAT(outcome.output, HasSubstr("(ND-007)"));
  EXPECT_THAT(outcome.output, Not(HasSubstr("conformance/")));
}

TEST_F(ValidateTest, LeavesChecksOut) {
  const CommandOutcome outcome =
      validate("--check 'hal/info/*' --except 'hal/info/status@*' --list", manifest());
  EXPECT_EQ(outcome.exitStatus, 0) << outcome.output << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("hal/info/"));
  EXPECT_THAT(outcome.output, Not(HasSubstr("hal/info/status")));
}

TEST_F(ValidateTest, AGoodDriverPasses) {
  const CommandOutcome outcome =
      validate("--check 'hal/info/*' --check conformance/add/plain --json '" + folder_ +
                   "/r.json' --html '" + folder_ + "/r.html' --junit '" + folder_ + "/r.xml'",
               manifest());
  EXPECT_EQ(outcome.exitStatus, 0) << outcome.output << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr(" passed, 0 failed, 0 skipped"));
  const nlohmann::json report = json("r.json");
  EXPECT_EQ(report["passed"], true);
  EXPECT_EQ(report["device"], "test-driver");
  EXPECT_EQ(report["areas"]["conformance"]["passed"], 1);
  EXPECT_GT(report["areas"]["hal"]["passed"], 10);
  EXPECT_THAT(contentOf(folder_ + "/r.html"), HasSubstr("the run passed"));
  EXPECT_THAT(contentOf(folder_ + "/r.xml"), HasSubstr("failures=\"0\""));
}

TEST_F(ValidateTest, AFailureComesWithTheCommandThatRepeatsIt) {
  const std::string path = manifest(R"({"status": "offline"})");
  const CommandOutcome outcome = validate("--check 'hal/info/status@1.0'", path);
  EXPECT_EQ(outcome.exitStatus, 1);
  EXPECT_THAT(outcome.output, HasSubstr("FAILED hal/info/status@1.0"));
  EXPECT_THAT(outcome.output, HasSubstr("getStatus answers 2, expected AVAILABLE (0)"));
  EXPECT_THAT(outcome.output, HasSubstr("validate " + path + " --check hal/info/status@1.0\n"));
}

TEST_F(ValidateTest, ACrashHasTheDriversLastWords) {
  const CommandOutcome outcome =
      validate("--check hal/prepare/keeps_models_apart@1.3",
               manifest(R"({"faults": [{"at": "execute", "nth": 2, "do": "abort"}]})"));
  EXPECT_EQ(outcome.exitStatus, 1);
  EXPECT_THAT(outcome.output, HasSubstr("CRASH hal/prepare/keeps_models_apart@1.3"));
  EXPECT_THAT(outcome.output, HasSubstr("signal 6"));
}

TEST_F(ValidateTest, AHangEndsWithItsLimit) {
  const CommandOutcome outcome =
      validate("--check hal/prepare/keeps_models_apart@1.3 --timeout 1",
               manifest(R"({"faults": [{"at": "execute", "do": "hang"}]})"));
  EXPECT_EQ(outcome.exitStatus, 1);
  EXPECT_THAT(outcome.output, HasSubstr("HANG hal/prepare/keeps_models_apart@1.3"));
}

TEST_F(ValidateTest, ExpectationsAreFoundBesideTheManifest) {
  const std::string path = manifest(R"({"status": "offline"})");
  const std::string expectations = folder_ + "/driver.expectations.json";
  std::ofstream(expectations) << R"({"expected_failure": [
      {"checks": "hal/info/status@*", "reason": "it is being repaired"}]})";
  CommandOutcome outcome = validate("--check 'hal/info/status@*'", path);
  EXPECT_EQ(outcome.exitStatus, 0) << outcome.output << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("4 expected failures"));
  // The failure is repaired, so its entry must be removed.
  outcome = validate("--check 'hal/info/status@*'", manifest());
  EXPECT_EQ(outcome.exitStatus, 1);
  EXPECT_THAT(outcome.output, HasSubstr("UNEXPECTED PASS hal/info/status@1.0"));
  std::ofstream(expectations) << R"({"unsupported": [
      {"checks": "hal/no_such_check", "reason": "a slip of the pen"}]})";
  outcome = validate("--check 'hal/info/status@*'", path);
  EXPECT_EQ(outcome.exitStatus, 1);
  EXPECT_THAT(outcome.output,
              HasSubstr("'hal/no_such_check' (a slip of the pen), which is no check"));
  std::ofstream(expectations) << R"({"unsupported": [{"checks": "hal/x"}]})";
  outcome = validate("--check 'hal/info/status@*'", path);
  EXPECT_EQ(outcome.exitStatus, 2);
  EXPECT_THAT(outcome.errors, HasSubstr("driver.expectations.json: unsupported[0]: reason"));
}

TEST_F(ValidateTest, StopsAfterSoManyFailures) {
  const CommandOutcome outcome =
      validate("--check 'hal/info/*' --max-failures 1 -j 1", manifest(R"({"status": "offline"})"));
  EXPECT_EQ(outcome.exitStatus, 1);
  EXPECT_THAT(outcome.output, HasSubstr("stopped early"));
}

TEST_F(ValidateTest, ADeviceOfThisProcess) {
  const CommandOutcome outcome =
      validate("--check 'hal/info/*' --check 'hal/prepare/*'", "nnapi-reference");
  EXPECT_EQ(outcome.exitStatus, 0) << outcome.output << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr(" 0 failed"));
}

TEST_F(ValidateTest, RefusesWhatMakesNoSense) {
  const std::string path = manifest();
  for (const auto& [arguments, text] :
       {std::pair("--quick --full", "exclude each other"),
        std::pair("--area moon", "no area 'moon'"),
        std::pair("--check moon/*", "no check is asked for"),
        std::pair("--expectations /nowhere", "/nowhere"),
        std::pair("--html /no/where", "/no/where"), std::pair("--vectors /nowhere", "/nowhere")}) {
    const CommandOutcome outcome = validate(arguments, path);
    EXPECT_EQ(outcome.exitStatus, 2) << arguments;
    EXPECT_THAT(outcome.errors, HasSubstr(text));
  }
  EXPECT_EQ(halyard("validate /nowhere/x.json").exitStatus, 2);
  EXPECT_EQ(halyard("validate no-such-device").exitStatus, 2);
  EXPECT_EQ(halyard("validate").exitStatus, 2);
  // The driver exists, but does not start.
  const CommandOutcome outcome =
      validate("--check 'hal/info/*'", manifest(R"({"no_such_field": 1})"));
  EXPECT_EQ(outcome.exitStatus, 1);
  EXPECT_THAT(outcome.errors, HasSubstr("test-driver"));
}

}  // namespace
}  // namespace halyard::cli
