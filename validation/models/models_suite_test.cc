// Tests the area "models": the checks that it lists, and its results for drivers that compute
// right, slightly wrong and wrong.
#include "validation/models/models_suite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/testing/command_for_test.h"
#include "validation/kit/target.h"

namespace halyard::validation {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

const std::string kModels = HALYARD_SOURCE_DIR "/models";
const std::string kPictures =
    " --data " + kModels + "/images --labels " + kModels + "/fashion_mnist_labels.txt";

class ModelsArea : public CommandTest {
 protected:
  CommandOutcome validate(const std::string& personality, const std::string& options) const {
    std::ofstream(folder_ + "/driver.personality") << personality;
    std::ofstream(folder_ + "/driver.json")
        << Json{{"name", "test-driver"},
                {"version", "1"},
                {"hal_version", "1.3"},
                {"executable", HALYARD_REFERENCE_DRIVER},
                {"arguments", {"--personality", "${manifest_dir}/driver.personality"}}};
    return halyard("validate " + folder_ + "/driver.json --area models " + options + " --json " +
                   folder_ + "/report.json --html " + folder_ + "/report.html --junit " + folder_ +
                   "/report.xml");
  }
  Json report() const {
    return Json::parse(contentOf(folder_ + "/report.json"), nullptr, /*allow_exceptions=*/false);
  }
  Json check(const std::string& name) const {
    const Json whole = report();
    for (const Json& one : whole.at("checks")) {
      if (one.at("check") == name) return one;
    }
    ADD_FAILURE() << "no check " << name;
    return {};
  }
};

TEST(ListModels, WhatCannotBeUsedIsSaidBefore) {
  Plan plan;
  plan.models = {"/nowhere"};
  EXPECT_THAT(std::string(listModels({}, plan).status().message()), HasSubstr("/nowhere"));
  plan.models = {HALYARD_SOURCE_DIR "/docs"};
  EXPECT_THAT(std::string(listModels({}, plan).status().message()), HasSubstr("no .tflite"));
  const TemporaryFolder folder;
  const std::string damaged = folder.path() + "/damaged.tflite";
  std::filesystem::copy_file(kModels + "/fashion_mnist_int8.tflite", damaged);
  std::filesystem::resize_file(damaged, 1000);
  plan.models = {damaged};
  EXPECT_THAT(std::string(listModels({}, plan).status().message()), HasSubstr("damaged.tflite"));
  plan.models = {};
  plan.data = "/nowhere";
  EXPECT_THAT(std::string(listModels({}, plan).status().message()), HasSubstr("/nowhere"));
  plan.labels = "/nowhere.txt";
  EXPECT_THAT(std::string(listModels({}, plan).status().message()), HasSubstr("/nowhere.txt"));
}

TEST(ListModels, TwoChecksForEachModel) {
  Plan plan;
  plan.models = {kModels + "/fashion_mnist_int8.tflite", kModels + "/fashion_mnist_float.tflite"};
  const auto checks = listModels({}, plan);
  ASSERT_TRUE(checks.ok()) << checks.status().toString();
  std::vector<std::string> names;
  for (const Check& check : *checks) names.push_back(check.name);
  EXPECT_THAT(
      names, ::testing::ElementsAre("fashion_mnist_int8/accuracy", "fashion_mnist_int8/latency",
                                    "fashion_mnist_float/accuracy", "fashion_mnist_float/latency"));
  // Without an installation a quick run has no models, and a full run has those made in code.
  plan.models = {};
  plan.prefix = "/nowhere";
  EXPECT_EQ(listModels({}, plan)->size(), 0u);
  plan.full = true;
  EXPECT_GT(listModels({}, plan)->size(), 4u);
}

TEST_F(ModelsArea, ADriverThatIsRight) {
  const CommandOutcome outcome = validate("{}", "");
  EXPECT_EQ(outcome.exitStatus, 0) << outcome.output << outcome.errors;
  for (const char* model : {"fashion_mnist_float", "fashion_mnist_int8"}) {
    const Json accuracy = check(std::string(model) + "/accuracy").at("figures");
    EXPECT_GE(accuracy.at("inputs"), 12);
    EXPECT_GT(accuracy.at("top_1_percent"), 90);
    EXPECT_EQ(accuracy.at("top_1_percent"), accuracy.at("reference_top_1_percent"));
    EXPECT_LT(accuracy.at("distance_percent"), 0.01);
    const Json latency = check(std::string(model) + "/latency").at("figures");
    for (const char* figure : {"median_ms", "per_second", "compile_ms", "compile_cached_ms",
                               "reference_median_ms", "times_as_fast"}) {
      EXPECT_GT(latency.at(figure), 0) << figure;
    }
  }
  const std::string page = contentOf(folder_ + "/report.html");
  EXPECT_THAT(page, HasSubstr("models: accuracy"));
  EXPECT_THAT(page, HasSubstr("times as fast"));
  EXPECT_THAT(contentOf(folder_ + "/report.xml"), HasSubstr("<property name=\"top_1_percent\""));
  EXPECT_THAT(outcome.output, HasSubstr("fashion_mnist_int8: inputs "));
}

TEST_F(ModelsArea, PicturesOfOnesOwn) {
  const CommandOutcome outcome = validate(
      "{}", "--models " + kModels + "/fashion_mnist_int8.tflite --check '*/accuracy'" + kPictures);
  EXPECT_EQ(outcome.exitStatus, 0) << outcome.output << outcome.errors;
  const Json figures = check("fashion_mnist_int8/accuracy").at("figures");
  EXPECT_EQ(figures.at("inputs"), 12);
  EXPECT_EQ(figures.at("top_1_percent"), 100);
}

TEST_F(ModelsArea, ValuesThatAreNotQuiteRight) {
  const CommandOutcome outcome =
      validate(R"({"wrong_values": {"SOFTMAX": 0.01}})",
               "--check 'fashion_mnist_float/accuracy' --seed 7 --models " + kModels + kPictures);
  EXPECT_EQ(outcome.exitStatus, 1);
  const Json accuracy = check("fashion_mnist_float/accuracy");
  EXPECT_EQ(accuracy.at("outcome"), "failed");
  EXPECT_THAT(accuracy.at("reason").get<std::string>(), HasSubstr("times the CPU device's"));
  EXPECT_GT(accuracy.at("figures").at("distance_percent"), 0.5);
  EXPECT_THAT(accuracy.at("repeat").get<std::string>(),
              HasSubstr("--check models/fashion_mnist_float/accuracy --models " + kModels +
                        kPictures + " --seed 7"));
}

TEST_F(ModelsArea, OperationsOfTheCpuDeviceAreSaid) {
  const CommandOutcome outcome = validate(R"({"supports": {"operations": ["SOFTMAX", "CONV_2D"]}})",
                                          "--check 'fashion_mnist_float/*'" + kPictures);
  EXPECT_EQ(outcome.exitStatus, 0) << outcome.output << outcome.errors;
  EXPECT_THAT(check("fashion_mnist_float/accuracy").at("reason").get<std::string>(),
              HasSubstr("11 of 19 operations on the CPU device"));
  EXPECT_EQ(check("fashion_mnist_float/latency").at("outcome"), "skipped");
}

TEST_F(ModelsArea, ADriverThatDies) {
  const CommandOutcome outcome =
      validate(R"({"faults": [{"at": "execute", "nth": 3, "do": "crash"}]})",
               "--check 'fashion_mnist_float/accuracy'" + kPictures);
  EXPECT_EQ(outcome.exitStatus, 1) << outcome.output << outcome.errors;
  EXPECT_EQ(check("fashion_mnist_float/accuracy").at("outcome"), "crash");
}

// Models beside the tree, if they exist: classifiers on pictures of unknown class, a detector, a
// segmentation, an autoencoder. Recurrent models run on random numbers.
TEST_F(ModelsArea, ModelsOfAllKinds) {
  const std::string folder = HALYARD_SOURCE_DIR "/../shared/models";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "they are not here";
  std::filesystem::create_directories(folder_ + "/pictures");
  for (const char* name : {"/cat.bmp", "/bird.bmp", "/grace_hopper.bmp"}) {
    std::filesystem::copy_file(folder + name, folder_ + "/pictures" + name);
  }
  const CommandOutcome outcome = validate(
      "{}", "--check '*/accuracy' --models " + folder + " --data " + folder_ + "/pictures");
  EXPECT_EQ(outcome.exitStatus, 0) << outcome.output << outcome.errors;
  EXPECT_EQ(check("invalid_model_invoking_error/accuracy").at("outcome"), "skipped");
  const Json detector = check("coco_ssd_mobilenet_v1_quant/accuracy");
  EXPECT_EQ(detector.at("figures").at("inputs"), 3);
  EXPECT_EQ(detector.at("reason"), "on pictures");
  EXPECT_EQ(check("ad01_float/accuracy").at("reason"), "on random numbers");
}

}  // namespace
}  // namespace halyard::validation
