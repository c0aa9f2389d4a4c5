// Tests of `halyard profile` with a driver in its own process: its document, and its trace.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/testing/command_for_test.h"
#include "test_definitions.h"
#include "trace/mark.h"

namespace halyard::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Json = nlohmann::json;

const std::string kProfiledModel = HALYARD_SOURCE_DIR "/models/fashion_mnist_float.tflite";

// An event of the trace, times in ns.
struct Event {
  trace::Mark mark;
  int64_t process = 0;
  int64_t thread = 0;
  int64_t begin = 0;
  int64_t end = 0;
};

int64_t nanoseconds(const Json& microseconds) {
  return static_cast<int64_t>(microseconds.get<double>() * 1000 + 0.5);
}

class ProfileCommandTest : public CommandTest {
 protected:
  std::vector<Event> events(const Json& trace) {
    std::vector<Event> result;
    for (const Json& each : trace.at("traceEvents")) {
      if (each.at("ph") != "X") continue;
      Event event;
      event.mark = trace::parseMark(each.at("name").get<std::string>()).value();
      event.process = each.at("pid");
      event.thread = each.at("tid");
      event.begin = nanoseconds(each.at("ts"));
      event.end = event.begin + nanoseconds(each.at("dur"));
      result.push_back(std::move(event));
    }
    return result;
  }

  // Checks on each thread that slices are nested or disjoint, and that each nesting is allowed.
  void expectNested(std::vector<Event> all, const std::map<int64_t, bool>& drivers) {
    std::map<std::pair<int64_t, int64_t>, std::vector<Event>> threads;
    for (Event& event : all) {
      // Inside a driver, slices of the CPU executor count as the driver's.
      if (drivers.at(event.process) && event.mark.layer == trace::Layer::CPU) {
        event.mark.layer = trace::Layer::DRIVER;
      }
      threads[{event.process, event.thread}].push_back(event);
    }
    for (auto& [key, list] : threads) {
      std::vector<Event> open;
      for (const Event& event : list) {  // the list has the order of nesting
        while (!open.empty() && open.back().end <= event.begin) open.pop_back();
        if (!open.empty()) {
          EXPECT_LE(event.end, open.back().end) << trace::markText(event.mark);
          const Status nests = trace::checkNesting(open.back().mark, event.mark);
          EXPECT_TRUE(nests.ok()) << nests.toString();
        }
        open.push_back(event);
      }
    }
  }
};

TEST_F(ProfileCommandTest, ATraceOfTwoProcessesNests) {
  const std::string file = folder_ + "/trace.json";
  const CommandOutcome outcome =
      halyard("profile " + kProfiledModel +
              " --device reference --runs 4 --warm-up 2 --json --trace " + file);
  ASSERT_EQ(outcome.exitStatus, 0) << outcome.errors;
  const Json trace = Json::parse(contentOf(file));
  std::map<int64_t, bool> drivers;
  std::map<int64_t, std::string> names;
  for (const Json& process : trace.at("otherData").at("processes")) {
    drivers[process.at("pid")] = process.at("driver");
    EXPECT_EQ(process.at("lost"), 0);
    EXPECT_EQ(process.at("rejected"), 0);
    EXPECT_EQ(process.at("cut"), 0);
    EXPECT_TRUE(process.at("problem").is_null());
  }
  for (const Json& event : trace.at("traceEvents")) {
    if (event.at("name") == "process_name") {
      names[event.at("pid")] = event.at("args").at("name").get<std::string>();
    }
  }
  EXPECT_EQ(names.size(), drivers.size());
  const std::vector<Event> all = events(trace);
  expectNested(all, drivers);
  // Each execution of the driver lies within one call of the client, on one clock.
  size_t executions = 0;
  size_t operations = 0;
  for (const Event& event : all) {
    if (!drivers.at(event.process)) continue;
    const bool isWaitedFor = std::ranges::any_of(all, [&](const Event& wait) {
      return wait.mark.layer == trace::Layer::IPC && wait.begin <= event.begin &&
             wait.end >= event.end;
    });
    EXPECT_TRUE(isWaitedFor) << trace::markText(event.mark);
    EXPECT_EQ(names.at(event.process), "halyard-reference");
    if (trace::markText(event.mark) == "[NN_LD_PE]execute") ++executions;
    if (event.mark.phase == trace::Phase::COMPUTATION) ++operations;
  }
  EXPECT_EQ(executions, 6u);
  const Json profile = Json::parse(outcome.output);
  EXPECT_EQ(operations, 6 * profile.at("operations").size());
}

TEST_F(ProfileCommandTest, EachOperationHasItsTimeAndPlace) {
  const CommandOutcome outcome =
      halyard("profile " + kProfiledModel + " --device reference --runs 4 --json");
  ASSERT_EQ(outcome.exitStatus, 0) << outcome.errors;
  const Json profile = Json::parse(outcome.output);
  double share = 0;
  double sum = 0;
  int64_t driver = 0;
  for (const Json& process : profile.at("processes")) {
    if (process.at("driver") && process.at("name") == "halyard-reference") {
      driver = process.at("process");
    }
  }
  EXPECT_GT(driver, 0);
  ASSERT_FALSE(profile.at("operations").empty());
  for (const Json& operation : profile.at("operations")) {
    EXPECT_EQ(operation.at("device"), "halyard-reference");
    EXPECT_EQ(operation.at("process"), driver);
    EXPECT_EQ(operation.at("count"), 7);
    EXPECT_GT(operation.at("bytes"), 0);
    if (operation.at("type") == "CONV_2D") {
      EXPECT_GT(operation.at("flop"), 0);
    }
    share += operation.at("share").get<double>();
    sum += operation.at("total_ns").get<double>();
  }
  EXPECT_NEAR(share, 1, 1e-6);
  ASSERT_EQ(profile.at("partitions").size(), 1u);
  const Json& partition = profile.at("partitions")[0];
  EXPECT_EQ(partition.at("process"), driver);
  EXPECT_EQ(partition.at("count"), 7);
  EXPECT_LE(partition.at("operations_median_ns"), partition.at("device_median_ns"));
  EXPECT_LE(partition.at("device_median_ns"), partition.at("median_ns"));
  ASSERT_EQ(profile.at("phases").size(), 1u);
  const Json& run = profile.at("phases")[0];
  EXPECT_EQ(run.at("starting_mark"), "halyard profile");
  EXPECT_EQ(run.at("executions"), 7);
  EXPECT_EQ(run.at("counted_executions"), 4);
  const auto total = [&](const char* layer, const char* phase) {
    return run.at("layers").at(layer).at(phase).at("total_ns").get<double>();
  };
  EXPECT_NEAR(total("LD", "PCO"), sum, 1);
  EXPECT_LE(total("LD", "PE"), total("LI", "PE"));
  EXPECT_LE(total("LI", "PE"), total("LR", "PE"));
  EXPECT_LE(total("LR", "PE"), total("LA", "PE"));
  EXPECT_LE(total("LD", "PC"), total("LI", "PC"));
  EXPECT_LE(total("LI", "PC"), total("LR", "PC"));
}

TEST_F(ProfileCommandTest, OnTheCpuAndAsText) {
  const CommandOutcome outcome =
      halyard("profile " + kProfiledModel + " --device nnapi-reference --runs 2 --all");
  ASSERT_EQ(outcome.exitStatus, 0) << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("#0 "));
  EXPECT_THAT(outcome.output, HasSubstr("nnapi-reference ("));
  EXPECT_THAT(outcome.output, HasSubstr("5 executions, 2 of them counted"));
  EXPECT_THAT(outcome.errors, IsEmpty());
  const CommandOutcome missing = halyard("profile /none/m.tflite");
  EXPECT_EQ(missing.exitStatus, 1);
  EXPECT_THAT(missing.errors, HasSubstr("/none/m.tflite"));
  EXPECT_EQ(halyard("profile " + kProfiledModel + " --json --all").exitStatus, 2);
  const CommandOutcome full = halyard("profile " + kProfiledModel + " --runs 1 --trace /dev/full");
  EXPECT_EQ(full.exitStatus, 1);
  EXPECT_THAT(full.errors, HasSubstr("writing /dev/full: No space left on device"));
}

TEST_F(ProfileCommandTest, HalyardTraceWritesATraceAtExit) {
  const std::string file = folder_ + "/at_exit.json";
  const CommandOutcome outcome = halyard(
      "run " + kProfiledModel + " --device reference --random-inputs 1", "HALYARD_TRACE=" + file);
  ASSERT_EQ(outcome.exitStatus, 0) << outcome.errors;
  const Json trace = Json::parse(contentOf(file));
  const std::vector<Event> all = events(trace);
  const auto has = [&](std::string_view text) {
    return std::ranges::any_of(
        all, [&](const Event& event) { return trace::markText(event.mark) == text; });
  };
  EXPECT_TRUE(has("[NN_LR_PE]ANeuralNetworksExecution_compute"));
  EXPECT_TRUE(has("[NN_LR_PP]ANeuralNetworksModel_finish"));
  EXPECT_TRUE(has("[NN_LD_PE]execute"));
  EXPECT_TRUE(has("[NN_LD_PC]prepareModel"));
  const CommandOutcome bad =
      halyard("devices", "HALYARD_TRACE=" + folder_ + "/none/x.json HALYARD_DRIVER_FILES=");
  EXPECT_EQ(bad.exitStatus, 0);
  EXPECT_THAT(bad.errors, HasSubstr("warning: HALYARD_TRACE: "));
}

TEST_F(ProfileCommandTest, VerboseLinesComeByTag) {
  const std::string command =
      "run " + kProfiledModel + " --device nnapi-reference --random-inputs 1";
  const CommandOutcome model = halyard(command, "env debug.nn.vlog=model");
  ASSERT_EQ(model.exitStatus, 0) << model.errors;
  EXPECT_THAT(model.errors, HasSubstr("halyard: info: digraph {"));
  EXPECT_THAT(model.errors, ::testing::Not(HasSubstr("findBestDevice")));
  const CommandOutcome compilation = halyard(command, "HALYARD_VLOG=compilation,nonsense");
  EXPECT_THAT(compilation.errors, HasSubstr("findBestDeviceForEachOperation("));
  EXPECT_THAT(compilation.errors, HasSubstr("error: HALYARD_VLOG: unknown tag 'nonsense'"));
  EXPECT_THAT(compilation.errors, ::testing::Not(HasSubstr("digraph")));
}

}  // namespace
}  // namespace halyard::cli
