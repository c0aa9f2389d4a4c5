// Tests of SOFTMAX against its formula along every axis.
#include <gtest/gtest.h>

#include <limits>
#include <optional>

#include "ops/naive_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;

TestOperand softmaxOutput(OperandType type) {
  if (!isQuant8Asymm(type)) return TestOperand::output(type);
  return TestOperand::output(type, 1.0f / 256, type == TENSOR_QUANT8_ASYMM ? 0 : -128);
}

std::vector<double> naiveSoftmax(const std::vector<double>& x, const Shape& dims, size_t axis,
                                 double beta) {
  std::vector<double> result;
  for (size_t i = 0; i < x.size(); ++i) {
    std::vector<size_t> at = coordinatesOf(i, dims);
    double sum = 0;
    for (at[axis] = 0; at[axis] < dims[axis]; ++at[axis]) {
      sum += std::exp(beta * (x[indexOf(at, dims)] - x[i]));
    }
    result.push_back(1 / sum);
  }
  return result;
}

TEST(Softmax, AgreesWithFormula) {
  RandomOperands random(21);
  for (int round = 0; round < 40; ++round) {
    for (OperandType type :
         {TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED}) {
      const Shape dims = randomShape(random, 1, 4, 7);
      const int rank = static_cast<int>(dims.size());
      const TestOperand x = random.tensor(type, dims);
      const float beta = random.oneOf({0.25f, 1.0f, 3.0f});
      // -rank - 1 means that the operand is left out.
      const int axis = random.between(-rank - 1, rank - 1);
      std::vector<TestOperand> inputs = {x, realScalar(type, beta)};
      if (axis >= -rank) inputs.push_back(TestOperand::int32(axis));
      const int resolved = axis < -rank ? rank - 1 : (axis + rank) % rank;
      std::vector<TestOperand> outputs = {softmaxOutput(type)};
      const std::string what =
          fmt::format("{} {} axis {}", operandTypeName(type), fmt::join(dims, "x"), axis);
      const Status status = runOperation(OperationType::SOFTMAX, inputs, outputs);
      ASSERT_TRUE(status.ok()) << status.toString() << "\n" << what;
      EXPECT_EQ(outputs[0].tensor.dims, dims);
      expectReals(outputs[0],
                  naiveSoftmax(realValues(x), dims, static_cast<size_t>(resolved),
                               static_cast<double>(beta)),
                  what);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Softmax, LargeValuesDoNotOverflow) {
  std::vector<TestOperand> inputs = {
      TestOperand::of<float>(TENSOR_FLOAT32, {1, 3}, {1e30f, 1e30f, -1e30f}),
      TestOperand::float32(1)};
  std::vector<TestOperand> outputs = {TestOperand::output(TENSOR_FLOAT32)};
  ASSERT_TRUE(runOperation(OperationType::SOFTMAX, inputs, outputs).ok());
  EXPECT_THAT(outputs[0].values<float>(), ::testing::ElementsAre(0.5f, 0.5f, 0));
}

TEST(Softmax, ZeroSized) {
  RandomOperands random(22);
  EXPECT_EQ(inferredShapes(OperationType::SOFTMAX,
                           {random.tensor(TENSOR_FLOAT32, {0, 3}), TestOperand::float32(1)},
                           {TestOperand::output(TENSOR_FLOAT32)})[0],
            (Shape{0, 3}));
}

TEST(Softmax, Refuses) {
  RandomOperands random(23);
  const TestOperand x = random.tensor(TENSOR_FLOAT32, {2, 3});
  const TestOperand output = TestOperand::output(TENSOR_FLOAT32);
  const auto refuses = [&](float beta, int axis, const std::string& text) {
    expectFailure(OperationType::SOFTMAX, {x, TestOperand::float32(beta), TestOperand::int32(axis)},
                  {output}, text);
  };
  refuses(0, 0, "beta is 0, expected a number above 0");
  refuses(-1, 0, "beta is -1");
  refuses(std::numeric_limits<float>::quiet_NaN(), 0, "beta is nan");
  refuses(std::numeric_limits<float>::infinity(), 0, "beta is inf");
  refuses(1, 2, "axis is 2, expected -2 to 1 for a tensor of rank 2");
  refuses(1, -3, "axis is -3");
  expectFailure(OperationType::SOFTMAX,
                {random.tensor(TENSOR_QUANT8_ASYMM, {2}), TestOperand::float32(1)},
                {TestOperand::output(TENSOR_QUANT8_ASYMM, 1.0f / 128, 0)}, "expected 1/256 and 0");
}

}  // namespace
}  // namespace halyard::ops::testing
