// Tests of MEAN over every set of axes against sums by coordinates.
#include <gtest/gtest.h>

#include <numeric>

#include "ops/reduction_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;

TEST(Mean, AgreesWithDefinition) {
  RandomOperands random(71);
  for (OperandType type :
       {TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED}) {
    expectReductions(
        OperationType::MEAN, random, [&](const Shape& dims) { return random.tensor(type, dims); },
        {{TestOperand::int32(0), false},
         {TestOperand::int32(1), true},
         {TestOperand::int32(7), true},
         {TestOperand::int32(-1), false}},
        [](const std::vector<double>& members) {
          return std::accumulate(members.begin(), members.end(), 0.0) /
                 static_cast<double>(members.size());
        });
  }
}

TEST(Mean, LongSumsStayPrecise) {
  // In single precision the sum would stop growing at 2^24.
  const uint32_t count = 1u << 25;
  std::vector<TestOperand> inputs = {
      TestOperand::of<float>(TENSOR_FLOAT32, {count}, std::vector<float>(count, 1.0f)),
      intList({0}), TestOperand::int32(0)};
  std::vector<TestOperand> outputs = {TestOperand::output(TENSOR_FLOAT32)};
  ASSERT_TRUE(runOperation(OperationType::MEAN, inputs, outputs).ok());
  EXPECT_EQ(outputs[0].tensor.dims, (Shape{1}));
  EXPECT_EQ(outputs[0].values<float>()[0], 1.0f);
}

TEST(Mean, Refuses) {
  RandomOperands random(72);
  const TestOperand x = random.tensor(TENSOR_FLOAT32, {2, 3});
  const auto refuses = [&](const std::vector<int32_t>& axes, const std::string& text) {
    expectFailure(OperationType::MEAN, {x, intList(axes), TestOperand::int32(0)}, {outputLike(x)},
                  text);
  };
  refuses({2}, "axis is 2, expected -2 to 1 for a tensor of rank 2");
  refuses({0, -3}, "axis is -3");
  expectFailure(OperationType::MEAN,
                {random.tensor(TENSOR_FLOAT32, {0, 3}), intList({0}), TestOperand::int32(0)},
                {outputLike(x)}, "zero-sized");
  expectFailure(OperationType::MEAN,
                {random.tensor(TENSOR_QUANT8_ASYMM, {3}), intList({0}), TestOperand::int32(0)},
                {TestOperand::output(TENSOR_QUANT8_ASYMM, 9, 0)}, "expected those of the input");
}

}  // namespace
}  // namespace halyard::ops::testing
