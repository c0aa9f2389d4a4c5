// Tests of --allow-fp16: each command that loads a model passes it on to the devices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/testing/command_for_test.h"
#include "test_definitions.h"

namespace halyard::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

const std::string kFloatModel = HALYARD_SOURCE_DIR "/models/fashion_mnist_float.tflite";

class AllowFloat16Test : public CommandTest {
 protected:
  // Runs the program with one driver, which has the personality.
  CommandOutcome runWith(const std::string& personality, const std::string& arguments) const {
    const std::string folder = std::filesystem::absolute(folder_).string();
    std::ofstream(folder + "/personality.json") << personality;
    std::ofstream(folder + "/manifest.json")
        << R"({"name": "test-half", "version": "1", "hal_version": "1.3", "executable": ")"
        << HALYARD_REFERENCE_DRIVER
        << R"(", "arguments": ["--personality", "${manifest_dir}/personality.json"]})";
    return halyard(arguments, "HALYARD_DRIVER_FILES='" + folder + "/manifest.json'");
  }

  // Runs the program with a driver that is only fast if the model allows float16. The runtime
  // chooses it then, and its own device otherwise.
  CommandOutcome halfFast(const std::string& arguments) const {
    return runWith(R"({"capabilities": {"default": {"exec_time": 2, "power_usage": 2},
                       "relaxed_tensor": {"exec_time": 0.001, "power_usage": 0.001},
                       "relaxed_scalar": {"exec_time": 0.001, "power_usage": 0.001}}})",
                   arguments);
  }
};

TEST_F(AllowFloat16Test, Run) {
  const std::string line = "run " + kFloatModel + " --random-inputs 1 --no-cache";
  EXPECT_THAT(halfFast(line).output, HasSubstr("\ndevice  nnapi-reference "));
  const CommandOutcome outcome = halfFast(line + " --allow-fp16");
  EXPECT_EQ(outcome.exitStatus, 0) << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("\ndevice  test-half "));
}

TEST_F(AllowFloat16Test, Explain) {
  const CommandOutcome without = halfFast("explain " + kFloatModel);
  EXPECT_THAT(without.output, Not(HasSubstr("fp16")));
  EXPECT_THAT(without.output, HasSubstr("nnapi-reference  #0"));
  const CommandOutcome with = halfFast("explain " + kFloatModel + " --allow-fp16");
  EXPECT_EQ(with.exitStatus, 0) << with.errors;
  EXPECT_THAT(with.output, HasSubstr("\nfp16    float32 may be computed as float16\n"));
  EXPECT_THAT(with.output, HasSubstr("test-half  #0"));
}

TEST_F(AllowFloat16Test, Profile) {
  const auto deviceOf = [&](const std::string& option) -> std::string {
    const CommandOutcome outcome =
        halfFast("profile " + kFloatModel + " --runs 1 --warm-up 0 --json" + option);
    EXPECT_EQ(outcome.exitStatus, 0) << outcome.errors;
    return Json::parse(outcome.output).at("operations").at(0).at("device");
  };
  EXPECT_EQ(deviceOf(""), "nnapi-reference");
  EXPECT_EQ(deviceOf(" --allow-fp16"), "test-half");
}

TEST_F(AllowFloat16Test, Bench) {
  const std::string file = folder_ + "/b.json";
  const std::string line = "bench " + kFloatModel +
                           " lstm_acoustic_float --device cpu --seconds 0.02 --warm-up 0 --images "
                           "10 --no-cache --no-operations --json " +
                           file;
  for (const bool allowed : {false, true}) {
    const CommandOutcome outcome = halyard(line + (allowed ? " --allow-fp16" : ""));
    EXPECT_EQ(outcome.exitStatus, 0) << outcome.errors;
    const Json document = Json::parse(contentOf(file));
    ASSERT_EQ(document.at("results").size(), 2u);
    for (const Json& result : document.at("results")) EXPECT_EQ(result.at("allow_fp16"), allowed);
  }
  const CommandOutcome misuse = halyard("bench --capabilities --device cpu --allow-fp16");
  EXPECT_EQ(misuse.exitStatus, 2);
  EXPECT_THAT(misuse.errors, HasSubstr("--allow-fp16"));
}

// The error is larger than the limit of float32, and smaller than that of float16.
TEST_F(AllowFloat16Test, Bisect) {
  const std::string wrong = R"({"wrong_values": {"AVERAGE_POOL_2D": 0.01}})";
  const std::string line = "bisect " + kFloatModel + " --device test-half -o " + folder_;
  EXPECT_EQ(runWith(wrong, line).exitStatus, 1);
  const CommandOutcome allowed = runWith(wrong, line + " --allow-fp16");
  EXPECT_EQ(allowed.exitStatus, 0) << allowed.output << allowed.errors;
  // The same for the vector that the first one has written.
  const std::string vector =
      "bisect " + folder_ + "/bisect_fashion_mnist_float.jsonl --device test-half -o " + folder_;
  EXPECT_EQ(runWith(wrong, vector).exitStatus, 1);
  EXPECT_EQ(runWith(wrong, vector + " --allow-fp16").exitStatus, 0);
}

TEST_F(AllowFloat16Test, AnotherValueIsMisuse) {
  for (const char* command : {"run", "explain", "profile", "bench", "bisect --device cpu"}) {
    const CommandOutcome outcome =
        halyard(std::string(command) + " " + kFloatModel + " --allow-fp16=perhaps");
    EXPECT_EQ(outcome.exitStatus, 2) << command;
    EXPECT_THAT(outcome.errors, HasSubstr("perhaps")) << command;
  }
}

}  // namespace
}  // namespace halyard::cli
