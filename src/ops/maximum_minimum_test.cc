// Tests of MAXIMUM and MINIMUM against their definitions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "ops/naive_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;
using ::testing::ElementsAre;
using ::testing::IsNan;

double larger(double x, double y) { return std::max(x, y); }
double smaller(double x, double y) { return std::min(x, y); }
const std::pair<OperationType, double (*)(double, double)> kOperations[] = {
    {OperationType::MAXIMUM, larger}, {OperationType::MINIMUM, smaller}};

TEST(MaximumMinimum, AgreeWithDefinition) {
  RandomOperands random(221);
  for (int round = 0; round < 40; ++round) {
    const BroadcastShapes shapes = randomBroadcast(random, 5);
    for (const auto& [op, exact] : kOperations) {
      for (OperandType type :
           {TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED}) {
        const TestOperand a = random.tensor(type, shapes.a);
        const TestOperand b = random.tensor(type, shapes.b);
        const TestOperand result = resultOf(op, {a, b}, random.output(type, 2));
        EXPECT_EQ(result.tensor.dims, shapes.result);
        expectReals(result, broadcastNumbers(a, b, shapes.result, exact),
                    operationTypeName(op) + " of " + operandTypeName(type));
      }
    }
  }
}

TEST(MaximumMinimum, Integers) {
  constexpr int32_t kMin = std::numeric_limits<int32_t>::min();
  constexpr int32_t kMax = std::numeric_limits<int32_t>::max();
  const TestOperand a = intList({16777217, kMin, -3, kMax});
  const TestOperand b = intList({16777216, kMax, -4, kMax});
  const TestOperand output = TestOperand::output(TENSOR_INT32);
  EXPECT_THAT(resultOf(OperationType::MAXIMUM, {a, b}, output).values<int32_t>(),
              ElementsAre(16777217, kMax, -3, kMax));
  EXPECT_THAT(resultOf(OperationType::MINIMUM, {a, b}, output).values<int32_t>(),
              ElementsAre(16777216, kMin, -4, kMax));
}

TEST(MaximumMinimum, NanWins) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const auto& [op, exact] : kOperations) {
    EXPECT_THAT(resultOf(op,
                         {TestOperand::of<float>(TENSOR_FLOAT32, {3}, {nan, 1, nan}),
                          TestOperand::of<float>(TENSOR_FLOAT32, {3}, {1, nan, nan})},
                         TestOperand::output(TENSOR_FLOAT32))
                    .values<float>(),
                ElementsAre(IsNan(), IsNan(), IsNan()));
  }
}

TEST(MaximumMinimum, QuantizedSaturatesAndKeepsEqualParameters) {
  const TestOperand a = TestOperand::of<uint8_t>(TENSOR_QUANT8_ASYMM, {3}, {0, 7, 255}, 0.3f, 9);
  const TestOperand b = TestOperand::of<uint8_t>(TENSOR_QUANT8_ASYMM, {1}, {100}, 0.3f, 9);
  EXPECT_THAT(resultOf(OperationType::MAXIMUM, {a, b}, outputLike(a)).bytes,
              ElementsAre(100, 100, 255));
  EXPECT_THAT(resultOf(OperationType::MINIMUM, {a, b}, outputLike(a)).bytes,
              ElementsAre(0, 7, 100));
  // Reals -2.7, -0.6 and 73.8 in steps of 0.1 from -0.5 on.
  EXPECT_THAT(
      resultOf(OperationType::MINIMUM, {a, a}, TestOperand::output(TENSOR_QUANT8_ASYMM, 0.1f, 5))
          .bytes,
      ElementsAre(0, 0, 255));
}

TEST(MaximumMinimum, LevelsAndErrors) {
  for (const auto& [op, exact] : kOperations) {
    expectTypeLevels(op, {{TENSOR_FLOAT32, 3},
                          {TENSOR_FLOAT16, 3},
                          {TENSOR_INT32, 3},
                          {TENSOR_QUANT8_ASYMM, 3},
                          {TENSOR_QUANT8_ASYMM_SIGNED, 4}});
    expectFailure(op, {intList({1, 2}), intList({1, 2, 3})}, {TestOperand::output(TENSOR_INT32)},
                  "cannot be broadcast");
    expectFailure(op, {intList({}), intList({1})}, {TestOperand::output(TENSOR_INT32)},
                  "zero-sized");
  }
}

}  // namespace
}  // namespace halyard::ops::testing
