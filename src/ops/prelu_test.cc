// Tests of PRELU against its definition.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "ops/naive_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;

TEST(Prelu, AgreesWithDefinition) {
  RandomOperands random(241);
  for (int round = 0; round < 60; ++round) {
    const BroadcastShapes shapes = randomBroadcast(random, 5);
    for (OperandType type :
         {TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED}) {
      const TestOperand x = random.tensor(type, shapes.a);
      const TestOperand alpha = random.tensor(type, shapes.b);
      const TestOperand result = resultOf(OperationType::PRELU, {x, alpha}, random.output(type, 4));
      EXPECT_EQ(result.tensor.dims, shapes.result);
      expectReals(result,
                  broadcastNumbers(x, alpha, shapes.result,
                                   [](double v, double a) { return v >= 0 ? v : a * v; }),
                  operandTypeName(type));
    }
  }
}

TEST(Prelu, QuantizedSaturates) {
  // Reals -50, 0 and 77 with a slope of -3, in units of 1 around 100.
  const TestOperand x =
      TestOperand::of<int8_t>(TENSOR_QUANT8_ASYMM_SIGNED, {3}, {0, 50, 127}, 1, 50);
  const TestOperand alpha = TestOperand::of<int8_t>(TENSOR_QUANT8_ASYMM_SIGNED, {1}, {-6}, 0.5f, 0);
  EXPECT_THAT(resultOf(OperationType::PRELU, {x, alpha},
                       TestOperand::output(TENSOR_QUANT8_ASYMM_SIGNED, 1, -100))
                  .values<int8_t>(),
              ::testing::ElementsAre(50, -100, -23));
  EXPECT_THAT(resultOf(OperationType::PRELU, {x, alpha},
                       TestOperand::output(TENSOR_QUANT8_ASYMM_SIGNED, 1e-30f, -100))
                  .values<int8_t>(),
              ::testing::ElementsAre(127, -100, 127));
}

TEST(Prelu, KeepsNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(resultOf(OperationType::PRELU,
                       {TestOperand::of<float>(TENSOR_FLOAT32, {2}, {nan, 1}),
                        TestOperand::of<float>(TENSOR_FLOAT32, {2}, {2, nan})},
                       TestOperand::output(TENSOR_FLOAT32))
                  .values<float>(),
              ::testing::ElementsAre(::testing::IsNan(), 1));
}

TEST(Prelu, LevelsAndErrors) {
  expectTypeLevels(OperationType::PRELU, {{TENSOR_FLOAT32, 3},
                                          {TENSOR_FLOAT16, 3},
                                          {TENSOR_QUANT8_ASYMM, 3},
                                          {TENSOR_QUANT8_ASYMM_SIGNED, 4}});
  RandomOperands random(242);
  expectFailure(OperationType::PRELU,
                {random.tensor(TENSOR_FLOAT32, {2, 4}), random.tensor(TENSOR_FLOAT32, {3})},
                {TestOperand::output(TENSOR_FLOAT32)}, "cannot be broadcast");
  expectFailure(OperationType::PRELU,
                {random.tensor(TENSOR_FLOAT32, {0}), random.tensor(TENSOR_FLOAT32, {1})},
                {TestOperand::output(TENSOR_FLOAT32)}, "zero-sized");
}

}  // namespace
}  // namespace halyard::ops::testing
