// The promise of recordModel: the model has a place in the device's memory.
#include "plan/model_recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halyard/driver/constants.h"
#include "svdf_for_test.h"

namespace halyard::vulkandriver {
namespace {

using ::testing::HasSubstr;

TEST(ModelRecordingTest, ConstantsAndParametersNeedPlacesToo) {
  const Model model = testing::svdfModel();
  Recording recording(model.main.operands.size());
  ASSERT_TRUE(recordModel(model, 1 << 20, recording).front().ok());
  const uint64_t added = recording.bytes(64);
  ASSERT_GT(added, 0u);
  // Operands of four bytes, each with at most 64 bytes until the next. The shaders do not read the
  // scalars.
  size_t places = 0;
  for (uint32_t i = 0; i < model.main.operands.size(); ++i) {
    if (!isConstant(model.main.operands[i]) || recording.uses(i)) ++places;
  }
  EXPECT_LT(places, model.main.operands.size());
  const uint64_t needed = places * (4 + 64) + added;
  Recording fitting(model.main.operands.size());
  EXPECT_TRUE(recordModel(model, needed, fitting).front().ok());
  Recording tooLarge(model.main.operands.size());
  const Status refused = recordModel(model, needed - 1, tooLarge).front();
  EXPECT_EQ(refused.code(), ResultCode::BAD_DATA);
  EXPECT_THAT(refused.message(), HasSubstr("at most"));
}

TEST(ModelRecordingTest, OperationsShareScratchMemory) {
  Recording recording(3);
  recording.beginOperation();
  const Place first = recording.scratch(64);
  const Place second = recording.scratch(64);
  EXPECT_NE(first.index, second.index);
  recording.beginOperation();
  EXPECT_EQ(recording.scratch(200).index, first.index);
  EXPECT_EQ(recording.bytes(64), 256u + 64u);
}

TEST(ModelRecordingTest, OperationsShareSpareScratchMemoryToo) {
  Recording recording(0);
  EXPECT_FALSE(recording.takeSpare(1, 0));
  EXPECT_TRUE(recording.wantsSpare());
  recording.setSpare(300);
  EXPECT_TRUE(recording.takeSpare(100, 50));
  EXPECT_TRUE(recording.takeSpare(100, 100));
  EXPECT_FALSE(recording.takeSpare(1, 0));
}

TEST(ModelRecordingTest, BytesCountEachConstantAndDispatch) {
  Recording recording(0);
  recording.constant(std::vector<uint8_t>(65));
  recording.add({Shader::BINARY, {}, {1, 2, 3}, 1});
  EXPECT_EQ(recording.bytes(64), 128u + 64u);
}

}  // namespace
}  // namespace halyard::vulkandriver
