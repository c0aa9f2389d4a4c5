// Tests of SELECT against its definition.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/naive_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;

TEST(Select, AgreesWithDefinition) {
  RandomOperands random(251);
  for (int round = 0; round < 30; ++round) {
    const Shape shape = randomShape(random, 1, 6, 4);
    for (OperandType type :
         {TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED}) {
      const TestOperand condition = fewNumbers(random, TENSOR_BOOL8, shape);
      const TestOperand x = random.tensor(type, shape);
      const TestOperand y = random.tensor(type, shape);
      const std::vector<double> realX = realValues(x);
      const std::vector<double> realY = realValues(y);
      std::vector<double> expected;
      for (size_t i = 0; i < realX.size(); ++i) {
        expected.push_back(condition.bytes[i] != 0 ? realX[i] : realY[i]);
      }
      const TestOperand result =
          resultOf(OperationType::SELECT, {condition, x, y}, random.output(type, 3));
      EXPECT_EQ(result.tensor.dims, shape);
      expectReals(result, expected, operandTypeName(type));
    }
  }
}

TEST(Select, MovesBits) {
  const TestOperand condition = TestOperand::of<uint8_t>(TENSOR_BOOL8, {4}, {0, 1, 2, 0});
  EXPECT_THAT(resultOf(OperationType::SELECT,
                       {condition, intList({1, 2, 3, 4}), intList({INT32_MIN, 6, 7, INT32_MAX})},
                       TestOperand::output(TENSOR_INT32))
                  .values<int32_t>(),
              ::testing::ElementsAre(INT32_MIN, 2, 3, INT32_MAX));
  // A NaN with specific bits.
  const TestOperand halves =
      TestOperand::of<uint16_t>(TENSOR_FLOAT16, {4}, {0x7d01, 0xfe02, 0x8000, 0x7c00});
  EXPECT_EQ(resultOf(OperationType::SELECT, {condition, halves, halves},
                     TestOperand::output(TENSOR_FLOAT16))
                .bytes,
            halves.bytes);
}

TEST(Select, LevelsAndErrors) {
  expectTypeLevels(OperationType::SELECT, {{TENSOR_FLOAT32, 3},
                                           {TENSOR_FLOAT16, 3},
                                           {TENSOR_INT32, 3},
                                           {TENSOR_QUANT8_ASYMM, 3},
                                           {TENSOR_QUANT8_ASYMM_SIGNED, 4}});
  RandomOperands random(252);
  const auto refuse = [&](const Shape& c, const Shape& x, const Shape& y, const std::string& text) {
    expectFailure(OperationType::SELECT,
                  {fewNumbers(random, TENSOR_BOOL8, c), random.tensor(TENSOR_FLOAT32, x),
                   random.tensor(TENSOR_FLOAT32, y)},
                  {TestOperand::output(TENSOR_FLOAT32)}, text);
  };
  refuse({2, 3}, {3}, {2, 3}, "input 1 has the shape [3], expected that of the condition, [2,3]");
  refuse({2, 3}, {2, 3}, {2, 1}, "input 2 has the shape [2,1]");
  refuse({1}, {2}, {2}, "input 1 has the shape [2]");
  refuse({0}, {0}, {0}, "zero-sized");
}

}  // namespace
}  // namespace halyard::ops::testing
