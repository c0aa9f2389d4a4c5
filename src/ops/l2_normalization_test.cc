// Tests of L2_NORMALIZATION against its formula along every axis.
#include <gtest/gtest.h>

#include <cmath>

#include "model/signature_for_test.h"
#include "ops/lines_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;
using enum OperationType;

TestOperand normalizedOutput(OperandType type) {
  if (!isQuant8Asymm(type)) return TestOperand::output(type);
  return TestOperand::output(type, 1.0f / 128, type == TENSOR_QUANT8_ASYMM ? 128 : 0);
}

Line normalized(const Line& line) {
  double squares = 0;
  for (double e : line) squares += e * e;
  Line result;
  for (double e : line) result.push_back(e / std::max(std::sqrt(squares), 1e-6));
  return result;
}

TEST(L2Normalization, AgreesWithFormula) {
  RandomOperands random(221);
  for (int round = 0; round < 60; ++round) {
    for (OperandType type :
         {TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED}) {
      const Shape dims = randomShape(random, 1, 4, 9);
      const TestOperand x = random.tensor(type, dims);
      const RandomAxis axis = randomAxis(random, dims.size(), true);
      std::vector<TestOperand> inputs = {x};
      inputs.insert(inputs.end(), axis.operand.begin(), axis.operand.end());
      std::vector<TestOperand> outputs = {normalizedOutput(type)};
      const std::string what =
          fmt::format("{} {} axis {}", operandTypeName(type), fmt::join(dims, "x"), axis.resolved);
      const Status status = runOperation(L2_NORMALIZATION, inputs, outputs);
      ASSERT_TRUE(status.ok()) << status.toString() << "\n" << what;
      EXPECT_EQ(outputs[0].tensor.dims, dims);
      expectReals(outputs[0], mapLines(realValues(x), dims, axis.resolved, normalized), what);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(L2Normalization, ExtremeLengths) {
  EXPECT_EQ(floatsOf(L2_NORMALIZATION, {0, 0, 0}), (std::vector<float>{0, 0, 0}));
  // The length is below the minimum, so the divisor is 1e-6.
  EXPECT_THAT(floatsOf(L2_NORMALIZATION, {3e-8f, 4e-8f}),
              ::testing::Pointwise(::testing::FloatEq(), {0.03f, 0.04f}));
  // The squares exceed float's range.
  EXPECT_THAT(floatsOf(L2_NORMALIZATION, {3e30f, -4e30f}),
              ::testing::Pointwise(::testing::FloatEq(), {0.6f, -0.8f}));
}

TEST(L2Normalization, QuantizedZeroVectorGivesZero) {
  for (const auto& [type, zero] : std::vector<std::pair<OperandType, uint8_t>>{
           {TENSOR_QUANT8_ASYMM, 128}, {TENSOR_QUANT8_ASYMM_SIGNED, 0}}) {
    std::vector<TestOperand> inputs = {
        TestOperand::of<uint8_t>(type, {2, 2}, {7, 7, 7, 17}, 0.1f, 7)};
    std::vector<TestOperand> outputs = {normalizedOutput(type)};
    ASSERT_TRUE(runOperation(L2_NORMALIZATION, inputs, outputs).ok());
    // 1 is one step above the type's maximum.
    const auto highest = static_cast<uint8_t>(zero + 127);
    EXPECT_THAT(outputs[0].bytes, ::testing::ElementsAre(zero, zero, zero, highest));
  }
}

TEST(L2Normalization, Levels) {
  const auto level = [](OperandType type, size_t rank, bool axis) {
    std::vector<TypeAndRank> inputs = {{type, rank}};
    if (axis) inputs.push_back({INT32, 0});
    return levelNeeded(L2_NORMALIZATION, inputs, {type, rank});
  };
  EXPECT_EQ(level(TENSOR_FLOAT32, 4, false), 1);
  EXPECT_EQ(level(TENSOR_FLOAT32, 3, false), 3);
  EXPECT_EQ(level(TENSOR_FLOAT32, 1, false), 3);
  EXPECT_EQ(level(TENSOR_FLOAT32, 4, true), 3);
  expectTypeLevels(L2_NORMALIZATION, {{TENSOR_FLOAT32, 1},
                                      {TENSOR_FLOAT16, 3},
                                      {TENSOR_QUANT8_ASYMM, 3},
                                      {TENSOR_QUANT8_ASYMM_SIGNED, 4}});
}

TEST(L2Normalization, Refuses) {
  RandomOperands random(222);
  const TestOperand x = random.tensor(TENSOR_FLOAT32, {2, 3});
  expectFailure(L2_NORMALIZATION, {x, TestOperand::int32(2)}, {outputLike(x)},
                "axis is 2, expected -2 to 1 for a tensor of rank 2");
  expectFailure(L2_NORMALIZATION, {x, TestOperand::int32(-3)}, {outputLike(x)}, "axis is -3");
  expectFailure(L2_NORMALIZATION, {random.tensor(TENSOR_FLOAT32, {1, 1, 1, 1, 2})}, {outputLike(x)},
                "input has rank 5");
  expectFailure(L2_NORMALIZATION, {random.tensor(TENSOR_FLOAT32, {0, 2})}, {outputLike(x)},
                "zero-sized");
  expectFailure(L2_NORMALIZATION, {random.tensor(TENSOR_QUANT8_ASYMM, {2})},
                {TestOperand::output(TENSOR_QUANT8_ASYMM, 1.0f / 256, 128)},
                "output has scale 0.00390625 and zero point 128, expected 1/128 and 128");
  expectFailure(L2_NORMALIZATION, {random.tensor(TENSOR_QUANT8_ASYMM_SIGNED, {2})},
                {TestOperand::output(TENSOR_QUANT8_ASYMM_SIGNED, 1.0f / 128, 1)},
                "expected 1/128 and 0");
}

}  // namespace
}  // namespace halyard::ops::testing
