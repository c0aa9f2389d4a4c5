// Tests of the interpretation of outputs.
#include "tools/halyard/run_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace halyard::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

client::Output floats(Shape dims, const std::vector<float>& values) {
  client::Output output{std::move(dims), std::vector<uint8_t>(values.size() * sizeof(float))};
  std::memcpy(output.bytes.data(), values.data(), output.bytes.size());
  return output;
}

// A model with one input and one output, without operations: enough to interpret outputs.
// clang-format takes a line that begins with `import` for the import of a module.
halyard::import::ImportedModel model(Shape input, OperandType outputType, float scale = 0,
                                     int32_t zeroPoint = 0) {
  import::ImportedModel result;
  result.inputs = {{"in", OperandType::TENSOR_FLOAT32, std::move(input), 0, 0}};
  result.outputs = {{"out", outputType, {}, scale, zeroPoint}};
  return result;
}

TEST(DescribeOutputs, ProbabilitiesAreShownAsTheyAre) {
  const auto output = floats({1, 3}, {0.25f, 0.7f, 0.05f});
  const Report report =
      describeOutputs(model({1, 8}, OperandType::TENSOR_FLOAT32), {&output, 1},
                      measure::Labels::parse("background\na\nb\nc"), std::nullopt, {2, 0});
  EXPECT_THAT(report.text, HasSubstr("output \"out\" TENSOR_FLOAT32[1,3]: the 2 best of 3 classes\n"
                                     "  note: the first of 4 labels"));
  EXPECT_THAT(report.text, HasSubstr("   0.7000     1  b\n   0.2500     0  a\n"));
  EXPECT_TRUE(report.pictures.empty());
}

TEST(DescribeOutputs, OtherScoresHaveTheirSoftmaxBeside) {
  const client::Output output{{1, 1, 1, 2}, {128, 130}};
  const Report report =
      describeOutputs(model({1, 8, 8, 3}, OperandType::TENSOR_QUANT8_ASYMM, 1.0f, 127),
                      {&output, 1}, measure::Labels(), std::nullopt, {});
  EXPECT_THAT(report.text, HasSubstr("(score, its softmax)"));
  EXPECT_THAT(report.text, HasSubstr("   3.0000  0.8808     1  class 1\n"));
}

TEST(DescribeOutputs, NumbersOfAModelThatClassifiesNothing) {
  const auto output = floats({1, 4}, {-1, 2, 5, 0});
  const Report report = describeOutputs(model({1, 4}, OperandType::TENSOR_FLOAT32), {&output, 1},
                                        measure::Labels(), std::nullopt, {});
  EXPECT_EQ(report.text,
            "output \"out\" TENSOR_FLOAT32[1,4]: least -1, greatest 5, mean 1.5\n  -1 2 5 0\n");
  const auto odd = floats({1, 2}, {NAN, 2});
  EXPECT_THAT(describeOutputs(model({1, 4}, OperandType::TENSOR_FLOAT32), {&odd, 1},
                              measure::Labels(), std::nullopt, {})
                  .text,
              HasSubstr("least 2, greatest 2, mean nan, 1 NaN"));
}

TEST(DescribeOutputs, SegmentationGivesAPicture) {
  const auto output = floats({1, 2, 2, 2}, {0, 1, 0, 1, 0, 1, 1, 0});
  const Report report =
      describeOutputs(model({1, 4, 4, 3}, OperandType::TENSOR_FLOAT32), {&output, 1},
                      measure::Labels::parse("ground\ncat"), media::blankImage(8, 6, 3), {});
  EXPECT_THAT(report.text, HasSubstr("segmentation into 2 classes"));
  EXPECT_THAT(report.text, HasSubstr("   75.0 %  cat"));
  ASSERT_EQ(report.pictures.size(), 1u);
  EXPECT_EQ(report.pictures[0].name, "segmentation");
  EXPECT_EQ(report.pictures[0].image.width, 8u);
}

TEST(DescribeOutputs, BytesThatAreNoNumbers) {
  const client::Output output{{1, 4}, {1, 2, 3, 4}};
  const Report report = describeOutputs(model({1, 4}, OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL),
                                        {&output, 1}, measure::Labels(), std::nullopt, {});
  EXPECT_THAT(report.text, HasSubstr("4 bytes (TENSOR_QUANT8_SYMM_PER_CHANNEL has no real"));
  const client::Output empty{{0, 4}, {}};
  EXPECT_THAT(describeOutputs(model({1, 4}, OperandType::TENSOR_FLOAT32), {&empty, 1},
                              measure::Labels(), std::nullopt, {})
                  .text,
              HasSubstr("[0,4]: empty"));
}

}  // namespace
}  // namespace halyard::cli
