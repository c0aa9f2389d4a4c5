// Tests of INSTANCE_NORMALIZATION against its formula in both layouts.
#include <gtest/gtest.h>

#include <cmath>

#include "ops/naive_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;

std::vector<TestOperand> operandsFor(const TestOperand& x, float gamma, float beta, float epsilon,
                                     bool nchw) {
  const OperandType type = x.tensor.type;
  return {x, realScalar(type, gamma), realScalar(type, beta), realScalar(type, epsilon),
          TestOperand::boolean(nchw)};
}

std::vector<double> naive(const TestOperand& x, double gamma, double beta, double epsilon) {
  const Shape& dims = x.tensor.dims;
  const std::vector<double> values = realValues(x);
  std::vector<double> result(values.size());
  for (size_t n = 0; n < dims[0]; ++n) {
    for (size_t c = 0; c < dims[3]; ++c) {
      std::vector<size_t> channel;
      for (size_t i = 0; i < values.size(); ++i) {
        const std::vector<size_t> at = coordinatesOf(i, dims);
        if (at[0] == n && at[3] == c) channel.push_back(i);
      }
      double sum = 0;
      double squares = 0;
      for (size_t i : channel) {
        sum += values[i];
        squares += values[i] * values[i];
      }
      const double mean = sum / static_cast<double>(channel.size());
      const double variance = squares / static_cast<double>(channel.size()) - mean * mean;
      for (size_t i : channel) {
        result[i] = (values[i] - mean) * gamma / std::sqrt(variance + epsilon) + beta;
      }
    }
  }
  return result;
}

TEST(InstanceNormalization, AgreesWithFormula) {
  RandomOperands random(241);
  for (int round = 0; round < 30; ++round) {
    for (OperandType type : {TENSOR_FLOAT32, TENSOR_FLOAT16}) {
      const TestOperand x = random.tensor(type, randomShape(random, 4, 4, 6));
      const float gamma = random.oneOf({1.0f, 2.5f, -1.0f});
      const float beta = random.oneOf({0.0f, 10.0f});
      const float epsilon = random.oneOf({0.125f, 0.0009765625f});
      std::vector<double> expected = naive(x, static_cast<double>(gamma), static_cast<double>(beta),
                                           static_cast<double>(epsilon));
      for (bool nchw : {false, true}) {
        const TestOperand stored = nchw ? toNchw(x) : x;
        std::vector<TestOperand> inputs = operandsFor(stored, gamma, beta, epsilon, nchw);
        std::vector<TestOperand> outputs = {TestOperand::output(type)};
        const Status status = runOperation(OperationType::INSTANCE_NORMALIZATION, inputs, outputs);
        ASSERT_TRUE(status.ok()) << status.toString();
        EXPECT_EQ(outputs[0].tensor.dims, stored.tensor.dims);
        if (nchw) expected = permuted(expected, x.tensor.dims, false);
        expectReals(outputs[0], expected,
                    fmt::format("{} {} nchw {}", operandTypeName(type),
                                fmt::join(x.tensor.dims, "x"), nchw));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(InstanceNormalization, SmallSpreadAroundALargeMean) {
  // In single precision the mean of the squares would hide the variance of 1.
  std::vector<TestOperand> inputs =
      operandsFor(TestOperand::of<float>(TENSOR_FLOAT32, {1, 2, 2, 1}, {9999, 10001, 10001, 9999}),
                  1, 0, 0, false);
  std::vector<TestOperand> outputs = {TestOperand::output(TENSOR_FLOAT32)};
  ASSERT_TRUE(runOperation(OperationType::INSTANCE_NORMALIZATION, inputs, outputs).ok());
  EXPECT_EQ(outputs[0].values<float>(), (std::vector<float>{-1, 1, 1, -1}));
}

TEST(InstanceNormalization, TypeLevels) {
  expectTypeLevels(OperationType::INSTANCE_NORMALIZATION,
                   {{TENSOR_FLOAT32, 3}, {TENSOR_FLOAT16, 3}});
}

TEST(InstanceNormalization, Refuses) {
  RandomOperands random(242);
  const TestOperand output = TestOperand::output(TENSOR_FLOAT32);
  expectFailure(OperationType::INSTANCE_NORMALIZATION,
                operandsFor(random.tensor(TENSOR_FLOAT32, {2, 3, 4}), 1, 0, 1, false), {output},
                "input has rank 3 [2,3,4], expected rank 4");
  expectFailure(OperationType::INSTANCE_NORMALIZATION,
                operandsFor(random.tensor(TENSOR_FLOAT32, {2, 0, 4, 1}), 1, 0, 1, true), {output},
                "zero-sized");
}

}  // namespace
}  // namespace halyard::ops::testing
