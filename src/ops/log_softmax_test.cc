// Tests of LOG_SOFTMAX against its formula along every axis.
#include <gtest/gtest.h>

#include <cmath>

#include "ops/lines_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;

TEST(LogSoftmax, AgreesWithFormula) {
  RandomOperands random(211);
  for (int round = 0; round < 60; ++round) {
    for (OperandType type : {TENSOR_FLOAT32, TENSOR_FLOAT16}) {
      const Shape dims = randomShape(random, 1, 6, 5);
      const TestOperand x = random.tensor(type, dims);
      const float beta = random.oneOf({0.25f, 1.0f, 3.0f, 50.0f, 0.0f, -2.0f});
      const RandomAxis axis = randomAxis(random, dims.size(), false);
      std::vector<TestOperand> inputs = {x, realScalar(type, beta), axis.operand[0]};
      std::vector<TestOperand> outputs = {TestOperand::output(type)};
      const std::string what =
          fmt::format("{} {} axis {}", operandTypeName(type), fmt::join(dims, "x"), axis.resolved);
      const Status status = runOperation(OperationType::LOG_SOFTMAX, inputs, outputs);
      ASSERT_TRUE(status.ok()) << status.toString() << "\n" << what;
      EXPECT_EQ(outputs[0].tensor.dims, dims);
      const auto expected = mapLines(realValues(x), dims, axis.resolved, [&](const Line& line) {
        double sum = 0;
        for (double e : line) sum += std::exp(static_cast<double>(beta) * e);
        Line result;
        for (double e : line) result.push_back(static_cast<double>(beta) * e - std::log(sum));
        return result;
      });
      expectReals(outputs[0], expected, what);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(LogSoftmax, LargeValuesDoNotOverflow) {
  for (float sign : {1.0f, -1.0f}) {
    std::vector<TestOperand> inputs = {
        TestOperand::of<float>(TENSOR_FLOAT32, {3}, {1000 * sign, 1000 * sign, -1000 * sign}),
        TestOperand::float32(sign), TestOperand::int32(0)};
    std::vector<TestOperand> outputs = {TestOperand::output(TENSOR_FLOAT32)};
    ASSERT_TRUE(runOperation(OperationType::LOG_SOFTMAX, inputs, outputs).ok());
    expectReals(outputs[0], {-std::log(2), -std::log(2), -2000 - std::log(2)}, "large");
  }
}

TEST(LogSoftmax, TypeLevels) {
  expectTypeLevels(OperationType::LOG_SOFTMAX, {{TENSOR_FLOAT32, 3}, {TENSOR_FLOAT16, 3}});
}

TEST(LogSoftmax, Refuses) {
  RandomOperands random(212);
  const TestOperand x = random.tensor(TENSOR_FLOAT32, {2, 3});
  for (const auto& [axis, text] : std::vector<std::pair<int, std::string>>{
           {2, "axis is 2, expected -2 to 1 for a tensor of rank 2"}, {-3, "axis is -3"}}) {
    expectFailure(OperationType::LOG_SOFTMAX,
                  {x, TestOperand::float32(1), TestOperand::int32(axis)}, {outputLike(x)}, text);
  }
  expectFailure(
      OperationType::LOG_SOFTMAX,
      {random.tensor(TENSOR_FLOAT32, {0, 3}), TestOperand::float32(1), TestOperand::int32(0)},
      {outputLike(x)}, "zero-sized");
}

}  // namespace
}  // namespace halyard::ops::testing
