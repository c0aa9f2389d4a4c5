// Tests of compare(): tolerances at their limits, shapes, special values, multinomial draws, texts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "base/float16.h"
#include "conformance/vectors.h"

namespace halyard::conformance {
namespace {

using ::testing::HasSubstr;

template <typename T>
std::vector<uint8_t> bytesOf(const std::vector<T>& values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// A case with one output operand.
VectorCase caseWith(OperandType type, Shape dims, std::vector<uint8_t> expected) {
  VectorCase result;
  Operand operand;
  operand.type = type;
  operand.dimensions = dims;
  operand.lifetime = Lifetime::SUBGRAPH_OUTPUT;
  result.model.main.operands.push_back(operand);
  result.model.main.outputIndexes = {0};
  result.outputs.push_back({std::move(expected), std::move(dims), false});
  return result;
}

template <typename T>
Status compareOne(OperandType type, T expected, T actual, bool relaxed = false) {
  VectorCase vectorCase = caseWith(type, {1}, bytesOf<T>({expected}));
  vectorCase.relaxed = relaxed;
  const ActualOutput output{bytesOf<T>({actual}), {1}};
  return compare(vectorCase, {&output, 1});
}

TEST(Compare, Float32) {
  const auto same = [](float e, float a, bool relaxed = false) {
    return compareOne<float>(OperandType::TENSOR_FLOAT32, e, a, relaxed).ok();
  };
  EXPECT_TRUE(same(0, 0.99e-5f));
  EXPECT_TRUE(same(0, -0.99e-5f));
  EXPECT_FALSE(same(0, 1.01e-5f));
  // 1e-5 + 5 * 2^-23 * 1000 = 6.06e-4
  EXPECT_TRUE(same(1000, 1000.00055f));
  EXPECT_FALSE(same(1000, 1000.0007f));
  EXPECT_FALSE(same(-1000, -1000.0007f));
  // 5 * 2^-10 * (1 + 1000) = 4.888
  EXPECT_TRUE(same(1000, 1004.88f, true));
  EXPECT_FALSE(same(1000, 1004.89f, true));
  EXPECT_TRUE(same(-0.0f, 0.0f));
}

TEST(Compare, SpecialValues) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto same = [](float e, float a) {
    return compareOne<float>(OperandType::TENSOR_FLOAT32, e, a, true).ok();
  };
  EXPECT_TRUE(same(kInfinity, kInfinity));
  EXPECT_FALSE(same(kInfinity, -kInfinity));
  EXPECT_FALSE(same(kInfinity, 3e38f));
  EXPECT_FALSE(same(1, kInfinity));
  EXPECT_TRUE(same(nan, nan));
  EXPECT_FALSE(same(nan, 0));
  EXPECT_FALSE(same(0, nan));
}

TEST(Compare, Float16) {
  const auto same = [](float e, float a) {
    return compareOne(OperandType::TENSOR_FLOAT16, toFloat16(e), toFloat16(a)).ok();
  };
  // 5 * 2^-10 * (1 + 2) = 0.01465; the neighbours of 2 are 2^-9 = 0.00195 away.
  EXPECT_TRUE(same(2, 2 + 7 * 0x1p-9f));
  EXPECT_FALSE(same(2, 2 + 8 * 0x1p-9f));
}

TEST(Compare, QuantisedMayBeOneOff) {
  EXPECT_TRUE(compareOne<uint8_t>(OperandType::TENSOR_QUANT8_ASYMM, 128, 127).ok());
  EXPECT_FALSE(compareOne<uint8_t>(OperandType::TENSOR_QUANT8_ASYMM, 128, 126).ok());
  // Values do not wrap around: the distance of 255 and 0 is 255. As signed bytes it would be one.
  EXPECT_FALSE(compareOne<uint8_t>(OperandType::TENSOR_QUANT8_ASYMM, 255, 0).ok());
  for (OperandType type : {OperandType::TENSOR_QUANT8_ASYMM_SIGNED, OperandType::TENSOR_QUANT8_SYMM,
                           OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL}) {
    EXPECT_TRUE(compareOne<int8_t>(type, -1, 0).ok());
    EXPECT_FALSE(compareOne<int8_t>(type, -1, 1).ok());
    EXPECT_FALSE(compareOne<int8_t>(type, 127, -128).ok());
  }
  EXPECT_TRUE(compareOne<int16_t>(OperandType::TENSOR_QUANT16_SYMM, -1, 0).ok());
  EXPECT_FALSE(compareOne<int16_t>(OperandType::TENSOR_QUANT16_SYMM, 32767, -32768).ok());
  EXPECT_TRUE(compareOne<uint16_t>(OperandType::TENSOR_QUANT16_ASYMM, 65535, 65534).ok());
  EXPECT_FALSE(compareOne<uint16_t>(OperandType::TENSOR_QUANT16_ASYMM, 65535, 0).ok());
}

TEST(Compare, IntegersAndBooleansAreExact) {
  EXPECT_TRUE(compareOne<int32_t>(OperandType::TENSOR_INT32, -5, -5).ok());
  EXPECT_FALSE(compareOne<int32_t>(OperandType::TENSOR_INT32, 2147483646, 2147483647).ok());
  EXPECT_FALSE(compareOne<uint8_t>(OperandType::TENSOR_BOOL8, 1, 0).ok());
  EXPECT_FALSE(compareOne<uint8_t>(OperandType::TENSOR_BOOL8, 1, 2).ok());
}

TEST(Compare, TellsTheFirstDifferenceAndHowMany) {
  const VectorCase vectorCase =
      caseWith(OperandType::TENSOR_FLOAT32, {2, 3}, bytesOf<float>({1, 2, 3, 4, 5, 6}));
  const ActualOutput output{bytesOf<float>({1, 2, 3, 4, 5.5f, 8}), {2, 3}};
  const Status status = compare(vectorCase, {&output, 1});
  EXPECT_EQ(status.code(), ResultCode::OP_FAILED);
  EXPECT_THAT(status.message(),
              HasSubstr("output 0: element 4 [1,1] is 5.5, expected 5; 2 of 6 elements differ, by "
                        "up to 2 "));
}

TEST(Compare, DimensionsAndSizes) {
  const VectorCase vectorCase =
      caseWith(OperandType::TENSOR_INT32, {2, 1}, bytesOf<int32_t>({1, 2}));
  const ActualOutput transposed{bytesOf<int32_t>({1, 2}), {1, 2}};
  EXPECT_THAT(compare(vectorCase, {&transposed, 1}).message(),
              HasSubstr("dimensions are [1,2], expected [2,1]"));
  const ActualOutput tooShort{bytesOf<int32_t>({1}), {2, 1}};
  EXPECT_THAT(compare(vectorCase, {&tooShort, 1}).message(), HasSubstr("4 bytes, expected 8"));
  EXPECT_THAT(compare(vectorCase, {}).message(), HasSubstr("0 outputs, expected 1"));

  const VectorCase empty = caseWith(OperandType::TENSOR_INT32, {0, 3}, {});
  const ActualOutput nothing{{}, {0, 3}};
  EXPECT_TRUE(compare(empty, {&nothing, 1}).ok());
}

TEST(Compare, IgnoredOutputsNeedOnlyTheirShape) {
  VectorCase vectorCase = caseWith(OperandType::TENSOR_INT32, {1}, bytesOf<int32_t>({1}));
  vectorCase.outputs[0].ignored = true;
  const ActualOutput other{bytesOf<int32_t>({7}), {1}};
  EXPECT_TRUE(compare(vectorCase, {&other, 1}).ok());
  const ActualOutput misshapen{bytesOf<int32_t>({7}), {1, 1}};
  EXPECT_FALSE(compare(vectorCase, {&misshapen, 1}).ok());
}

TEST(Compare, ACaseThatMustFailHasNoRightOutput) {
  VectorCase vectorCase = caseWith(OperandType::TENSOR_INT32, {1}, bytesOf<int32_t>({1}));
  vectorCase.expectFailure = true;
  const ActualOutput output{bytesOf<int32_t>({1}), {1}};
  EXPECT_FALSE(compare(vectorCase, {&output, 1}).ok());
}

TEST(Compare, MultinomialFrequencies) {
  constexpr uint32_t kSamples = 1000;
  VectorCase vectorCase = caseWith(OperandType::TENSOR_INT32, {1, kSamples}, {});
  vectorCase.outputs[0].bytes.resize(kSamples * sizeof(int32_t));
  vectorCase.multinomialTolerance = 0.02;
  Operand logits;
  logits.type = OperandType::TENSOR_FLOAT32;
  logits.dimensions = {1, 2};
  logits.lifetime = Lifetime::SUBGRAPH_INPUT;
  vectorCase.model.main.operands.push_back(logits);
  vectorCase.model.main.inputIndexes = {1};
  // The probabilities are not normalised: 1 : 3 after the exponential.
  vectorCase.inputs.push_back({bytesOf<float>({5.0f, 5.0f + std::log(3.0f)}), false});

  const auto draw = [&](uint32_t zeros) {
    std::vector<int32_t> classes(kSamples, 1);
    std::fill(classes.begin(), classes.begin() + zeros, 0);
    const ActualOutput output{bytesOf(classes), {1, kSamples}};
    return compare(vectorCase, {&output, 1});
  };
  EXPECT_TRUE(draw(250).ok());
  EXPECT_TRUE(draw(231).ok());
  EXPECT_THAT(draw(229).message(), HasSubstr("class 0 has frequency 0.229, expected 0.2"));
  EXPECT_FALSE(draw(271).ok());
  std::vector<int32_t> classes(kSamples, 2);
  const ActualOutput outside{bytesOf(classes), {1, kSamples}};
  EXPECT_THAT(compare(vectorCase, {&outside, 1}).message(), HasSubstr("class 2 of 2"));
}

}  // namespace
}  // namespace halyard::conformance
