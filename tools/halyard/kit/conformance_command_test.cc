// Tests of `halyard conformance` as a program, on small cases of their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/testing/command_for_test.h"
#include "conformance/case_for_test.h"
#include "test_definitions.h"

namespace halyard::cli {
namespace {

using conformance::testing::addLine;
using testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

// Inputs that make the test driver misbehave: src/hal/testing/test_device.h.
constexpr float kHang = 777;
constexpr float kAbort = 666;

const std::string kGood = addLine("good", {1, 2}, {3, 4}, {4, 6});
const std::string kWrong = addLine("wrong one", {1, 2}, {3, 4}, {4, 7});
const std::string kRefused =
    addLine("refused", {1, 2}, {1, 2, 3}, {1, 2}, R"("expect_failure":true,)");

class ConformanceCommandTest : public CommandTest {
 protected:
  std::string write(const std::string& name, const std::vector<std::string>& lines) {
    return files_.write(name, lines);
  }
  CommandOutcome conformance(const std::string& arguments,
                             const std::string& environment = "") const {
    return halyard("conformance " + arguments, environment);
  }
  // A manifest for the test driver, as an environment that makes it the only driver.
  std::string testDriver() {
    const std::string manifest = files_.path() + "/test.json";
    std::ofstream(manifest) << R"({"name":"test-driver","version":"1","hal_version":"1.3",)"
                            << R"("executable":")" << HALYARD_TEST_DRIVER_PATH << "\"}";
    return "HALYARD_DRIVER_FILES='" + manifest + "'";
  }
  // RELU, which the test driver does not support: it has only ADD.
  static std::string reluLine() {
    std::string relu = addLine("relu", {1, 2}, {3, 4}, {1, 2});
    const std::string_view add = R"("type":"ADD","inputs":[0,1,2])";
    return relu.replace(relu.find(add), add.size(), R"("type":"RELU","inputs":[0])");
  }
  static std::string lastLine(const std::string& text) {
    const size_t end = text.find_last_not_of('\n');
    const size_t begin = text.rfind('\n', end);
    return text.substr(begin + 1, end - begin);
  }

  const conformance::testing::TemporaryFolder files_{"conformance_command"};
};

TEST_F(ConformanceCommandTest, GoodCasesOnEveryDeviceAndInEveryVariant) {
  write("V1/a.jsonl.gz", {kGood, kRefused});
  write("V2/b.jsonl", {kGood});
  for (const char* device : {"nnapi-reference", "reference"}) {
    for (const char* via : {"api", "hal"}) {
      const CommandOutcome outcome = conformance(files_.path() + " --variants all --device " +
                                                 device + " --via " + via + " -j 3");
      EXPECT_EQ(outcome.exitStatus, 0) << outcome.output << outcome.errors;
      const std::string counts = lastLine(outcome.output);
      int passed = 0;
      ASSERT_EQ(std::sscanf(counts.c_str(), "%d passed, 0 failed, 0 skipped", &passed), 1)
          << outcome.output;
      EXPECT_EQ(passed % 3, 0);
      EXPECT_GE(passed, 3 * (std::string_view(via) == "api" ? 9 : 8));
    }
  }
  const CommandOutcome plain = conformance(files_.path());
  EXPECT_EQ(plain.exitStatus, 0) << plain.errors;
  EXPECT_EQ(plain.output, "3 passed, 0 failed, 0 skipped\n");
}

TEST_F(ConformanceCommandTest, AFailureCanBeRepeatedByItsCommand) {
  write("a dir/a.jsonl.gz", {kGood, kWrong, kWrong});
  const CommandOutcome outcome = conformance("'" + files_.path() + "' --variants pools,threads");
  EXPECT_EQ(outcome.exitStatus, 1);
  EXPECT_EQ(lastLine(outcome.output), "2 passed, 4 failed, 0 skipped");
  EXPECT_THAT(outcome.output, HasSubstr("FAILED " + files_.path() +
                                        "/a dir/a.jsonl.gz:2 wrong one\n"
                                        "  variant pools, via api, device nnapi-reference\n"
                                        "  output 0: element 1 [1] is 6, expected 7; 1 of 2"));
  EXPECT_THAT(outcome.output, HasSubstr("thread 0: output 0: element 1 [1] is 6, expected 7"));
  const size_t at = outcome.output.find("  repeat: ") + 10;
  const std::string command = outcome.output.substr(at, outcome.output.find('\n', at) - at);
  EXPECT_THAT(command, HasSubstr(" --case 'wrong one' "));
  const std::string repeated = folder_ + "/repeated";
  const int status = std::system((command + " >" + repeated + " 2>&1").c_str());
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 1);
  EXPECT_EQ(lastLine(contentOf(repeated)), "0 passed, 2 failed, 0 skipped");
  EXPECT_THAT(contentOf(repeated), HasSubstr("element 1 [1] is 6, expected 7"));
}

TEST_F(ConformanceCommandTest, WhatCannotBeReadIsAFailure) {
  std::vector<std::string> many(300, kGood);
  const std::string truncated = write("b.jsonl.gz", many);
  std::filesystem::resize_file(truncated, std::filesystem::file_size(truncated) - 9);
  const std::string lines =
      write("a.jsonl.gz", {kGood, "{\"name\":7}", "\x1b[31m{", kGood, "[[[[[[[[[[[["});
  const CommandOutcome outcome = conformance(files_.path());
  EXPECT_EQ(outcome.exitStatus, 1);
  EXPECT_THAT(outcome.output, HasSubstr("FAILED " + lines + ":2\n  " + lines + " line 2: 'name'"));
  EXPECT_THAT(outcome.output, HasSubstr("FAILED " + lines + ":5\n"));
  EXPECT_THAT(outcome.output, HasSubstr("FAILED " + truncated + "\n  " + truncated +
                                        ": decompression failed after line "));
  EXPECT_THAT(outcome.output, Not(HasSubstr("\x1b")));
  EXPECT_THAT(lastLine(outcome.output), EndsWith(" passed, 4 failed, 0 skipped"));
  // The filter selects another case of the same file.
  const CommandOutcome filtered = conformance(lines + " --case good");
  EXPECT_EQ(filtered.exitStatus, 0) << filtered.output;
  EXPECT_EQ(filtered.output, "2 passed, 0 failed, 0 skipped\n");
}

TEST_F(ConformanceCommandTest, HostileCasesAreRefusedOrFail) {
  const auto replaced = [](std::string text, std::string_view from, std::string_view to) {
    return text.replace(text.find(from), from.size(), to);
  };
  const std::string expecting = addLine("hostile", {1}, {1}, {2}, R"("expect_failure":true,)");
  write("a.jsonl", {replaced(expecting, "[0,1,2]", "[0,1,4294967295]"),
                    replaced(expecting, "\"outputs\":[3]}]", "\"outputs\":[0]}]"),
                    replaced(expecting, "[1],\"lifetime\":\"SUBGRAPH_OUTPUT\"",
                             "[65535,65535],\"lifetime\":\"SUBGRAPH_OUTPUT\""),
                    replaced(expecting, "\"type\":\"INT32\"", "\"type\":\"FLOAT32\"")});
  for (const char* how : {"", "--via hal", "--device reference", "--device reference --via hal"}) {
    const CommandOutcome outcome = conformance(files_.path() + " --variants all " + how);
    EXPECT_EQ(outcome.exitStatus, 0) << how << outcome.output;
    EXPECT_THAT(outcome.output, EndsWith(" passed, 0 failed, 0 skipped\n"));
  }
}

TEST_F(ConformanceCommandTest, ADriverThatDiesIsAFailureAndTheRunGoesOn) {
  const std::string environment = testDriver();
  write("a.jsonl", {kGood, addLine("dies", {kAbort}, {1}, {2}), kGood,
                    addLine("dies too", {kAbort}, {1}, {2}, R"("expect_failure":true,)"), kGood});
  for (const char* via : {"api", "hal"}) {
    const CommandOutcome outcome =
        conformance(files_.path() + " -j 1 --device test-driver --via " + via, environment);
    EXPECT_EQ(outcome.exitStatus, 1) << outcome.errors;
    EXPECT_EQ(lastLine(outcome.output), "3 passed, 2 failed, 0 skipped") << outcome.output;
    EXPECT_THAT(outcome.output, testing::ContainsRegex("the driver's process [0-9]+ ended: "));
    EXPECT_THAT(outcome.output, HasSubstr("DEAD_OBJECT"));
    EXPECT_THAT(outcome.output, HasSubstr("repeat: HALYARD_DRIVER_FILES=" + files_.path()));
  }
}

TEST_F(ConformanceCommandTest, ADriverThatHangsIsAFailureAndTheRunGoesOn) {
  const std::string environment = testDriver();
  write("a.jsonl", {kGood, addLine("hangs", {kHang}, {1}, {2}), kGood,
                    addLine("hangs too", {kHang}, {1}, {2}, R"("expect_failure":true,)"), kGood});
  const CommandOutcome outcome =
      conformance(files_.path() + " -j 2 --timeout 4 --device test-driver", environment);
  EXPECT_EQ(outcome.exitStatus, 1);
  EXPECT_EQ(lastLine(outcome.output), "3 passed, 2 failed, 0 skipped") << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("no result within 4 s; its process was killed"));
  EXPECT_THAT(outcome.output, HasSubstr(" --timeout 4\n"));
}

TEST_F(ConformanceCommandTest, ADriverThatDoesNotStart) {
  write("a.jsonl", {kGood});
  const CommandOutcome outcome = conformance(files_.path() + " --via hal --device test-driver",
                                             testDriver() + " HALYARD_TEST_DRIVER=exit");
  EXPECT_EQ(outcome.exitStatus, 1);
  EXPECT_THAT(outcome.errors, HasSubstr("driver 'test-driver'"));
}

TEST_F(ConformanceCommandTest, UnsupportedIsSkippedWithAReason) {
  write("a.jsonl", {reluLine(), kGood, reluLine()});
  for (const char* via : {"api", "hal"}) {
    const CommandOutcome outcome =
        conformance(files_.path() + " --device test-driver --via " + via, testDriver());
    EXPECT_EQ(outcome.exitStatus, 0) << outcome.output << outcome.errors;
    EXPECT_EQ(outcome.output,
              "skipped:\n     2  device test-driver does not support operation 0, RELU: "
              "TENSOR_FLOAT32 rank 1\n1 passed, 0 failed, 2 skipped\n");
  }
}

// The runtime divides the models between them.
TEST_F(ConformanceCommandTest, SeveralDevicesRunWhatOneOfThemRefuses) {
  write("a.jsonl", {reluLine(), kGood, kWrong});
  const CommandOutcome outcome =
      conformance(files_.path() + " --device test-driver --device nnapi-reference", testDriver());
  EXPECT_EQ(outcome.exitStatus, 1) << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("device test-driver + nnapi-reference\n"));
  EXPECT_THAT(outcome.output, HasSubstr(" --device test-driver --device nnapi-reference\n"));
  EXPECT_EQ(lastLine(outcome.output), "2 passed, 1 failed, 0 skipped");
}

TEST_F(ConformanceCommandTest, Reports) {
  write("a.jsonl", {kGood, kWrong, "{"});
  const std::string json = folder_ + "/report.json";
  const std::string junit = folder_ + "/report.xml";
  const CommandOutcome outcome =
      conformance(files_.path() + " --variants plain,twice --json " + json + " --junit " + junit);
  EXPECT_EQ(outcome.exitStatus, 1);
  const auto report = nlohmann::json::parse(contentOf(json), nullptr, false);
  ASSERT_TRUE(report.is_object()) << contentOf(json);
  EXPECT_EQ(report["device"], "nnapi-reference");
  EXPECT_EQ(report["via"], "api");
  EXPECT_EQ(report["variants"], nlohmann::json({"plain", "twice"}));
  EXPECT_EQ(report["passed"], 2);
  EXPECT_EQ(report["failed"], 3);
  ASSERT_EQ(report["cases"].size(), 5u);
  EXPECT_EQ(report["cases"][0]["case"], "good");
  EXPECT_EQ(report["cases"][3]["case"], "wrong one");
  EXPECT_EQ(report["cases"][3]["variant"], "twice");
  EXPECT_EQ(report["cases"][4]["line"], 3);
  EXPECT_THAT(contentOf(junit), HasSubstr("<testsuite name=\"twice\" tests=\"2\" failures=\"1\""));
  const CommandOutcome unwritable = conformance(files_.path() + " --json /none/report.json");
  EXPECT_EQ(unwritable.exitStatus, 2);
  EXPECT_THAT(unwritable.errors, HasSubstr("writing /none/report.json"));
}

TEST_F(ConformanceCommandTest, MisuseIsStatus2) {
  const std::string file = write("a.jsonl", {kGood});
  const std::pair<std::string, std::string> calls[] = {
      {"", "PATH is required"},
      {folder_ + "/none", "/none: No such file"},
      {folder_, "no case in "},
      {file + " --case none", "no case that is asked for in "},
      {file + " --variants plain,fast", "no variant 'fast'; the variants are: plain, "},
      {file + " --via wire", "--via"},
      {file + " --device tpu", "no device 'tpu'; the devices are: "},
      {file + " --device tpu --via hal", "no device 'tpu'; the devices are: "},
      {file + " --device cpu --device reference --via hal", "--via hal takes one device"},
      {file + " --via hal --variants async", "variant async cannot be run: "},
      {file + " -j 0", "--jobs"},
      {file + " --timeout 0", "--timeout"},
  };
  for (const auto& [arguments, text] : calls) {
    const CommandOutcome outcome = conformance(arguments);
    EXPECT_EQ(outcome.exitStatus, 2) << arguments;
    EXPECT_THAT(outcome.errors, HasSubstr(text)) << arguments;
    EXPECT_THAT(outcome.errors, EndsWith("Try 'halyard conformance --help'.\n")) << arguments;
    EXPECT_EQ(outcome.output, "") << arguments;
  }
}

TEST_F(ConformanceCommandTest, VariantsThatTheRuntimeLacksAreRefused) {
  const std::string file = write("a.jsonl", {kGood});
  const CommandOutcome outcome = conformance(file + " --variants burst");
  // The case passes when the runtime provides these functions.
  if (outcome.exitStatus == 0) return;
  EXPECT_EQ(outcome.exitStatus, 2);
  EXPECT_THAT(outcome.errors, HasSubstr("variant burst cannot be run: "));
}

TEST_F(ConformanceCommandTest, FencedVariantRunsThroughBothInterfaces) {
  const std::string file = write("a.jsonl", {kGood});
  for (const std::string via : {"api", "hal"}) {
    for (const std::string device : {"nnapi-reference", "reference"}) {
      const CommandOutcome outcome =
          conformance(file + " --variants fenced --via " + via + " --device " + device);
      EXPECT_EQ(outcome.exitStatus, 0) << via << " " << device << ": " << outcome.errors;
      EXPECT_THAT(outcome.output, HasSubstr("1 passed, 0 failed, 0 skipped"));
    }
  }
}

}  // namespace
}  // namespace halyard::cli
