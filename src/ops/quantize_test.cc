// Tests of QUANTIZE against its formula.
#include <gtest/gtest.h>

#include <limits>

#include "ops/naive_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;

TEST(Quantize, RoundsAndSaturates) {
  RandomOperands random(31);
  for (int round = 0; round < 30; ++round) {
    for (OperandType from : {TENSOR_FLOAT32, TENSOR_FLOAT16}) {
      for (OperandType to : {TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED}) {
        const TestOperand x = random.tensor(from, randomShape(random, 1, 5, 5));
        std::vector<TestOperand> inputs = {x};
        // Half of the outputs do not cover [-1, 1].
        std::vector<TestOperand> outputs = {random.output(to, random.oneOf({0.3, 2.0}))};
        ASSERT_TRUE(runOperation(OperationType::QUANTIZE, inputs, outputs).ok());
        EXPECT_EQ(outputs[0].tensor.dims, x.tensor.dims);
        expectReals(outputs[0], realValues(x), operandTypeName(from));
      }
    }
  }
}

TEST(Quantize, TiesGoAwayFromZeroAndSpecialValuesSaturate) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<TestOperand> inputs = {TestOperand::of<float>(
      TENSOR_FLOAT32, {9},
      {0.25f, -0.25f, 0.75f, 0.24999999f, 1e30f, -1e30f, infinity, -infinity, nan})};
  std::vector<TestOperand> outputs = {TestOperand::output(TENSOR_QUANT8_ASYMM, 0.5f, 100)};
  ASSERT_TRUE(runOperation(OperationType::QUANTIZE, inputs, outputs).ok());
  EXPECT_THAT(outputs[0].values<uint8_t>(),
              ::testing::ElementsAre(101, 99, 102, 100, 255, 0, 255, 0, 0));
}

TEST(Quantize, ZeroSized) {
  RandomOperands random(32);
  EXPECT_EQ(inferredShapes(OperationType::QUANTIZE, {random.tensor(TENSOR_FLOAT32, {0, 2})},
                           {TestOperand::output(TENSOR_QUANT8_ASYMM, 1, 0)})[0],
            (Shape{0, 2}));
}

}  // namespace
}  // namespace halyard::ops::testing
