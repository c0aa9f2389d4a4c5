// Tests of reading and drawing detections.
#include "tools/halyard/detections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace halyard::cli {
namespace {

using ::testing::HasSubstr;

uint32_t add(Model& model, Operand operand) {
  model.main.operands.push_back(std::move(operand));
  return static_cast<uint32_t>(model.main.operands.size() - 1);
}

uint32_t tensor(Model& model, Shape dims, Lifetime lifetime = Lifetime::TEMPORARY_VARIABLE) {
  Operand operand;
  operand.type = OperandType::TENSOR_FLOAT32;
  operand.dimensions = std::move(dims);
  operand.lifetime = lifetime;
  return add(model, operand);
}

// A detector for 5 classes and the background. Its outputs are boxes, classes, scores and count, as
// in TFLite. The classes pass through another operation.
Model detector(bool backgroundIncluded) {
  Model model;
  Operation detect{OperationType::DETECTION_POSTPROCESSING, {}, {}};
  detect.inputs.push_back(tensor(model, {1, 10, 5}, Lifetime::SUBGRAPH_INPUT));
  for (int i = 1; i <= 12; ++i) {
    detect.inputs.push_back(tensor(model, {1}, Lifetime::CONSTANT_COPY));
  }
  Operand flag;
  flag.type = OperandType::BOOL;
  flag.lifetime = Lifetime::CONSTANT_COPY;
  const uint8_t value = backgroundIncluded ? 1 : 0;
  model.operandValues = {9, 9, 9, 9};
  flag.location = appendConstant(model, &value, 1);
  detect.inputs.push_back(add(model, flag));
  const uint32_t scores = tensor(model, {1, 3});
  const uint32_t boxes = tensor(model, {1, 3, 4});
  const uint32_t classes = tensor(model, {1, 3});
  const uint32_t count = tensor(model, {1});
  const uint32_t converted = tensor(model, {1, 3});
  detect.outputs = {scores, boxes, classes, count};
  model.main.inputIndexes = {detect.inputs[0]};
  model.main.operations = {detect, {OperationType::RELU, {classes}, {converted}}};
  model.main.outputIndexes = {boxes, converted, scores, count};
  return model;
}

TEST(FindDetectionOutputs, FollowsTheOperation) {
  const auto outputs = findDetectionOutputs(detector(false));
  ASSERT_TRUE(outputs.has_value());
  EXPECT_EQ(outputs->boxes, 0u);
  EXPECT_EQ(outputs->classes, 1u);
  EXPECT_EQ(outputs->scores, 2u);
  EXPECT_EQ(outputs->count, 3u);
  EXPECT_EQ(outputs->classCount, 4u);
  EXPECT_EQ(findDetectionOutputs(detector(true))->classCount, 5u);
}

TEST(FindDetectionOutputs, NeedsTheThreeMainOutputs) {
  Model model = detector(false);
  model.main.outputIndexes.pop_back();
  ASSERT_TRUE(findDetectionOutputs(model).has_value());
  EXPECT_FALSE(findDetectionOutputs(model)->count.has_value());
  model.main.outputIndexes.pop_back();
  EXPECT_FALSE(findDetectionOutputs(model).has_value());
  EXPECT_FALSE(findDetectionOutputs(Model()).has_value());
}

TEST(ReadDetections, TakesTheValidOnes) {
  const float scores[] = {0.9f, 0.2f, 0.8f, 0.7f};
  const float boxes[] = {0, 0, 1, 1, 0, 0, 1, 1, 0.1f, 0.2f, 0.3f, 0.4f, 9, 9, 9, 9};
  const float classes[] = {0, 1, 2, 3};
  const auto detections = readDetections({scores, boxes, classes, 3.0f}, 0.5f);
  ASSERT_TRUE(detections.ok()) << detections.status().toString();
  ASSERT_EQ(detections->size(), 2u);
  EXPECT_EQ((*detections)[1].classIndex, 2u);
  EXPECT_FLOAT_EQ((*detections)[1].top, 0.1f);
  EXPECT_FLOAT_EQ((*detections)[1].left, 0.2f);
  EXPECT_FLOAT_EQ((*detections)[1].bottom, 0.3f);
  EXPECT_FLOAT_EQ((*detections)[1].right, 0.4f);
  EXPECT_EQ(readDetections({scores, boxes, classes, std::nullopt}, 0.5f)->size(), 3u);
}

TEST(ReadDetections, RefusesWhatDoesNotFit) {
  const float four[] = {1, 1, 1, 1};
  const float one[] = {1};
  EXPECT_FALSE(readDetections({four, four, four, std::nullopt}, 0).ok());
  EXPECT_FALSE(readDetections({one, four, one, 2.0f}, 0).ok());
  EXPECT_FALSE(readDetections({one, four, one, -1.0f}, 0).ok());
  EXPECT_FALSE(readDetections({one, four, one, NAN}, 0).ok());
  const float bad[] = {-1};
  EXPECT_FALSE(readDetections({one, four, bad, 1.0f}, 0).ok());
  const float none[] = {NAN};
  EXPECT_TRUE(readDetections({none, four, one, 1.0f}, 0)->empty());
}

TEST(ListDetections, InPixels) {
  const Detection detection = {0.25f, 0.5f, 0.75f, 1.0f, 0.875f, 1};
  const measure::Labels labels = measure::Labels::parse("cat\ndog");
  EXPECT_EQ(listDetections({&detection, 1}, labels, 200, 100),
            "  0.8750  dog                   left 100, top 25, right 200, bottom 75\n");
  EXPECT_THAT(listDetections({&detection, 1}, labels, 0, 0), HasSubstr("left 0.500, top 0.250"));
}

TEST(DrawDetections, FramesTheBoxAndStaysInside) {
  media::Image picture = media::blankImage(100, 80, 3);
  const Detection detections[] = {{0.5f, 0.5f, 1.0f, 1.0f, 0.9f, 0},
                                  {-1e30f, NAN, 1e30f, INFINITY, 0.1f, 1}};
  drawDetections(picture, detections, measure::Labels());
  const uint8_t* corner = picture.at(99, 79);
  EXPECT_NE(corner[0] + corner[1] + corner[2], 0);
  const uint8_t* inside = picture.at(75, 60);
  EXPECT_EQ(inside[0] + inside[1] + inside[2], 0);
}

}  // namespace
}  // namespace halyard::cli
