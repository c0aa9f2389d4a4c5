// Tests of POW against the power of doubles.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ops/naive_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;

TestOperand positive(RandomOperands& random, OperandType type, const Shape& dims) {
  std::vector<float> values(elementsOf(dims));
  for (float& value : values) value = random.realBetween(0.1f, 3);
  if (type == TENSOR_FLOAT32) return TestOperand::of<float>(type, dims, values);
  std::vector<Float16> halves;
  for (float value : values) halves.push_back(toFloat16(value));
  return TestOperand::of<Float16>(type, dims, halves);
}

TEST(Pow, AgreesWithDefinition) {
  RandomOperands random(231);
  for (int round = 0; round < 40; ++round) {
    const BroadcastShapes shapes = randomBroadcast(random, 5);
    for (OperandType type : {TENSOR_FLOAT32, TENSOR_FLOAT16}) {
      const TestOperand base = positive(random, type, shapes.a);
      const TestOperand exponent = random.tensor(type, shapes.b);
      const TestOperand result =
          resultOf(OperationType::POW, {base, exponent}, TestOperand::output(type));
      EXPECT_EQ(result.tensor.dims, shapes.result);
      expectReals(result,
                  broadcastNumbers(base, exponent, shapes.result,
                                   [](double x, double y) { return std::exp(y * std::log(x)); }),
                  operandTypeName(type));
    }
  }
}

TEST(Pow, SpecialValues) {
  const TestOperand result =
      resultOf(OperationType::POW,
               {TestOperand::of<float>(TENSOR_FLOAT32, {6}, {-2, -2, 0, 0, -2, 2}),
                TestOperand::of<float>(TENSOR_FLOAT32, {6}, {3, 0.5f, 0, -1, -2, 1000})},
               TestOperand::output(TENSOR_FLOAT32));
  EXPECT_THAT(result.values<float>(),
              ::testing::ElementsAre(-8, ::testing::IsNan(), 1, kInfinity, 0.25f, kInfinity));
}

TEST(Pow, LevelsAndErrors) {
  expectTypeLevels(OperationType::POW, {{TENSOR_FLOAT32, 3}, {TENSOR_FLOAT16, 3}});
  RandomOperands random(232);
  expectFailure(OperationType::POW,
                {random.tensor(TENSOR_FLOAT32, {2}), random.tensor(TENSOR_FLOAT32, {3})},
                {TestOperand::output(TENSOR_FLOAT32)}, "cannot be broadcast");
  expectFailure(OperationType::POW,
                {random.tensor(TENSOR_FLOAT32, {0}), random.tensor(TENSOR_FLOAT32, {1})},
                {TestOperand::output(TENSOR_FLOAT32)}, "zero-sized");
}

}  // namespace
}  // namespace halyard::ops::testing
