// Tests of `halyard random-graphs` and `halyard bisect` as programs, on drivers with faults.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/command_for_test.h"
#include "test_definitions.h"

namespace halyard::cli {
namespace {

using ::testing::HasSubstr;

class RandomGraphsCommandTest : public CommandTest {
 protected:
  // The environment that makes a reference driver with the personality the only driver.
  std::string driver(const std::string& personality) const {
    const std::string folder = std::filesystem::absolute(folder_).string();
    std::ofstream(folder + "/personality.json") << personality;
    std::ofstream(folder + "/manifest.json")
        << R"({"name": "test-npu", "version": "1", "hal_version": "1.3", "executable": ")"
        << HALYARD_REFERENCE_DRIVER
        << R"(", "arguments": ["--personality", "${manifest_dir}/personality.json"]})";
    return "HALYARD_DRIVER_FILES='" + folder + "/manifest.json'";
  }
  std::string file(const std::string& name) const { return folder_ + "/" + name; }
};

TEST_F(RandomGraphsCommandTest, AGoodDevicePasses) {
  const CommandOutcome outcome =
      halyard("random-graphs --device test-npu --count 30 -j 2", driver("{}"));
  EXPECT_EQ(outcome.exitStatus, 0) << outcome.output << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("30 passed, 0 failed, 0 skipped"));
}

TEST_F(RandomGraphsCommandTest, TheSameSeedsGiveTheSameOutput) {
  const std::string environment = driver(R"({"wrong_values": {"RESHAPE": 0.5}})");
  const std::string command = "random-graphs --device test-npu --count 20 -j 1 -o " + folder_;
  const CommandOutcome first = halyard(command, environment);
  const CommandOutcome second = halyard(command, environment);
  EXPECT_EQ(first.exitStatus, 1);
  EXPECT_EQ(first.output, second.output);
}

TEST_F(RandomGraphsCommandTest, AFailureIsMadeSmallAndWritten) {
  const std::string environment = driver(R"({"wrong_values": {"RESHAPE": 0.5}})");
  const CommandOutcome outcome = halyard(
      "random-graphs --device test-npu --count 20 --types float32 -o " + folder_, environment);
  EXPECT_EQ(outcome.exitStatus, 1) << outcome.output << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr(" 1 left, RESHAPE\n"));
  EXPECT_THAT(outcome.output, HasSubstr("--count 1 --operations 40 --types float32\n"));
  std::string vectors;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    if (entry.path().extension() == ".jsonl") vectors = entry.path().string();
  }
  ASSERT_FALSE(vectors.empty());
  EXPECT_THAT(contentOf(vectors.substr(0, vectors.size() - 6) + ".dot"), HasSubstr("digraph"));
  const CommandOutcome wrong =
      halyard("conformance " + vectors + " --via hal --device test-npu", environment);
  EXPECT_EQ(wrong.exitStatus, 1) << wrong.output;
  const CommandOutcome right = halyard("conformance " + vectors + " --device nnapi-reference");
  EXPECT_EQ(right.exitStatus, 0) << right.output << right.errors;
  const CommandOutcome bisected =
      halyard("bisect " + vectors + " --device test-npu -o " + folder_, environment);
  EXPECT_EQ(bisected.exitStatus, 1);
  EXPECT_THAT(bisected.output, HasSubstr("operation #0 RESHAPE is the first that is wrong"));
}

TEST_F(RandomGraphsCommandTest, ADriverThatDiesIsAFailure) {
  const CommandOutcome outcome =
      halyard("random-graphs --device test-npu --count 12 --types float32 -o " + folder_,
              driver(R"({"faults": [{"at": "execute", "operation": "RESHAPE", "do": "abort"}]})"));
  EXPECT_EQ(outcome.exitStatus, 1);
  EXPECT_THAT(outcome.output, HasSubstr("DEAD_OBJECT"));
  EXPECT_THAT(outcome.output, HasSubstr(" 1 left, RESHAPE\n"));
}

TEST_F(RandomGraphsCommandTest, Misuse) {
  EXPECT_EQ(halyard("random-graphs").exitStatus, 2);
  EXPECT_EQ(halyard("random-graphs --device nowhere").exitStatus, 2);
  const CommandOutcome types = halyard("random-graphs --device nnapi-reference --types float8");
  EXPECT_EQ(types.exitStatus, 2);
  EXPECT_THAT(types.errors, HasSubstr("no type 'float8'; types are "));
}

class BisectCommandTest : public RandomGraphsCommandTest {
 protected:
  const std::string model_ = "models/fashion_mnist_float.tflite";
};

TEST_F(BisectCommandTest, FindsAnOperationOfAModel) {
  const CommandOutcome outcome = halyard("bisect " + model_ + " --device test-npu -o " + folder_,
                                         driver(R"({"wrong_values": {"AVERAGE_POOL_2D": 0.1}})"));
  EXPECT_EQ(outcome.exitStatus, 1) << outcome.output << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("AVERAGE_POOL_2D is the first that is wrong by itself"));
  EXPECT_TRUE(std::filesystem::exists(file("bisect_fashion_mnist_float.jsonl")));
  EXPECT_TRUE(std::filesystem::exists(file("bisect_fashion_mnist_float.dot")));
}

TEST_F(BisectCommandTest, NothingDiffers) {
  const CommandOutcome outcome =
      halyard("bisect " + model_ + " --device test-npu --all", driver("{}"));
  EXPECT_EQ(outcome.exitStatus, 0) << outcome.output << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("nothing differs\n"));
  EXPECT_THAT(outcome.output, HasSubstr("CONV_2D"));
}

TEST_F(BisectCommandTest, Misuse) {
  EXPECT_EQ(halyard("bisect").exitStatus, 2);
  EXPECT_EQ(halyard("bisect " + model_ + " --device nowhere").exitStatus, 2);
  EXPECT_EQ(halyard("bisect nothing.tflite --device nnapi-reference").exitStatus, 1);
}

}  // namespace
}  // namespace halyard::cli
