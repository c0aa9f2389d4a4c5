// Where models are divided, and how executions end between submissions.
#include "plan/submissions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "case_for_test.h"
#include "plan/model_recording.h"
#include "plan/vulkan_model.h"
#include "svdf_for_test.h"

namespace halyard::vulkandriver {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uint32_t kElements = 1 << 18;

// Doubles its input `times` times.
Model doublingModel(size_t times) {
  Model model;
  uint32_t last = testing::addInput(model, {kElements});
  const uint32_t activation = testing::addInteger(model, 0);
  for (size_t i = 0; i < times; ++i) {
    const bool isLast = i + 1 == times;
    const uint32_t next =
        testing::add(model, OperandType::TENSOR_FLOAT32, {kElements},
                     isLast ? Lifetime::SUBGRAPH_OUTPUT : Lifetime::TEMPORARY_VARIABLE);
    model.main.operations.push_back({OperationType::ADD, {last, last, activation}, {next}});
    last = next;
  }
  return model;
}

Recording recordingOf(const Model& model, const ShaderForms& forms) {
  Recording recording(model.main.operands.size(), forms);
  for (const Status& answer : recordModel(model, INT32_MAX, recording)) {
    EXPECT_TRUE(answer.ok()) << answer.toString();
  }
  return recording;
}

// Each operation moves three tensors.
DeviceSpeed speedOf(double nanosecondsOfOperation) {
  return {0, 0, nanosecondsOfOperation / (3.0 * sizeof(float) * kElements)};
}

TEST(SubmissionsTest, EndAfterTheirTime) {
  const Model model = doublingModel(5);
  const Recording recording = recordingOf(model, {});
  ASSERT_EQ(recording.dispatches().size(), 5u);
  EXPECT_THAT(submissionEnds(model.main, recording, {}), ElementsAre(5));
  EXPECT_THAT(submissionEnds(model.main, recording, speedOf(1e6)), ElementsAre(5));
  EXPECT_THAT(submissionEnds(model.main, recording, speedOf(11e6)), ElementsAre(2, 4, 5));
  EXPECT_THAT(submissionEnds(model.main, recording, speedOf(1e9)), ElementsAre(1, 2, 3, 4, 5));
}

TEST(SubmissionsTest, DispatchesOfAnOperationMayBeApart) {
  const Model model = doublingModel(1);
  Recording recording(model.main.operands.size());
  recording.beginOperation();
  for (int i = 0; i < 4; ++i) recording.add({Shader::BINARY, {}, {}, 1});
  EXPECT_THAT(submissionEnds(model.main, recording, speedOf(44e6)), ElementsAre(2, 4));
}

TEST(SubmissionsTest, AModelWithoutDispatchesHasOne) {
  EXPECT_THAT(submissionEnds(Subgraph(), Recording(0), speedOf(1)), ElementsAre(0));
}

class LongModelTest : public ::testing::TestWithParam<bool> {
 protected:
  static constexpr size_t kTimes = 100;

  void SetUp() override {
    const auto device = VulkanDevice::open({.software = true, .mapsMemory = GetParam()});
    if (!device.ok()) GTEST_SKIP() << "NO VULKAN DEVICE, NOTHING IS TESTED";
    const auto model = std::make_shared<const Model>(doublingModel(kTimes));
    // Each operation becomes a submission.
    const auto made = VulkanModel::create(*device, model, recordingOf(*model, (*device)->forms()),
                                          {hal::Priority::LOW, speedOf(1e9)});
    ASSERT_TRUE(made.ok()) << made.status().toString();
    prepared_ = *made;
  }

  Status execute(const hal::ExecuteOptions& options) {
    std::vector<float> in(kElements, 1);
    std::vector<float> out(kElements);
    hal::Request request;
    request.inputs = {testing::argumentFor(in)};
    request.outputs = {testing::argumentFor(out)};
    Status status = prepared_->executeSynchronously(request, options).status;
    if (status.ok()) {
      EXPECT_EQ(out, std::vector<float>(kElements, 0x1p100f));
    }
    return status;
  }

  std::shared_ptr<hal::PreparedModel> prepared_;
};

TEST_P(LongModelTest, EndsAtItsDeadline) {
  ASSERT_TRUE(execute({}).ok());
  // Only a check between two submissions gives this code. On a slow machine, a short deadline
  // passes before the first; on a fast one, a long one is met.
  Status status;
  std::chrono::microseconds left(2000);
  for (int attempt = 0; attempt < 40; ++attempt) {
    hal::ExecuteOptions options;
    options.deadline = hal::Clock::now() + left;
    status = execute(options);
    if (status.code() == ResultCode::MISSED_DEADLINE_TRANSIENT) break;
    left = status.ok() ? left / 2 : left * 2;
  }
  EXPECT_EQ(status.code(), ResultCode::MISSED_DEADLINE_TRANSIENT) << status.toString();
  EXPECT_TRUE(execute({}).ok());
}

TEST_P(LongModelTest, EndsWhenCancelled) {
  std::stop_source source;
  source.request_stop();
  hal::ExecuteOptions options;
  options.cancel = source.get_token();
  const Status status = execute(options);
  EXPECT_EQ(status.code(), ResultCode::OP_FAILED);
  EXPECT_THAT(status.message(), HasSubstr("cancelled"));
  EXPECT_TRUE(execute({}).ok());
}

INSTANTIATE_TEST_SUITE_P(Memory, LongModelTest, ::testing::Bool(),
                         [](const auto& made) { return made.param ? "Mapped" : "Staged"; });

}  // namespace
}  // namespace halyard::vulkandriver
