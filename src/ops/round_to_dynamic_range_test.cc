// Tests of ROUND_TO_DYNAMIC_RANGE against its formula, and against the operations of the API that
// compute the same.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "model/signature_for_test.h"
#include "ops/lines_for_test.h"
#include "ops/random_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;
using enum OperationType;
using Floats = std::vector<float>;

Floats rounded(const Floats& values, const Shape& dims, int32_t axis) {
  std::vector<TestOperand> inputs = {TestOperand::of<float>(TENSOR_FLOAT32, dims, values),
                                     TestOperand::int32(axis)};
  std::vector<TestOperand> outputs = {TestOperand::output(TENSOR_FLOAT32)};
  const Status status = runOperation(ROUND_TO_DYNAMIC_RANGE, inputs, outputs);
  EXPECT_TRUE(status.ok()) << status.toString();
  EXPECT_EQ(outputs[0].tensor.dims, dims);
  return outputs[0].values<float>();
}

// Runs one operation of the API on float tensors.
TestOperand apply(OperationType type, std::vector<TestOperand> inputs) {
  std::vector<TestOperand> outputs = {TestOperand::output(TENSOR_FLOAT32)};
  const Status status = runOperation(type, inputs, outputs);
  EXPECT_TRUE(status.ok()) << status.toString();
  return outputs[0];
}
TestOperand arithmetic(OperationType type, const TestOperand& a, const TestOperand& b) {
  return apply(type, {a, b, TestOperand::int32(0)});
}

// Computes the result with the nineteen operations.
Floats roundedByTheApi(const TestOperand& x, int32_t axis) {
  std::vector<int32_t> axes(x.tensor.rank() - static_cast<size_t>(axis));
  std::iota(axes.begin(), axes.end(), axis);
  const auto number = [](float value) {
    return TestOperand::of<float>(TENSOR_FLOAT32, {1}, {value});
  };
  const auto reduce = [&](OperationType type) {
    return apply(
        type,
        {x, TestOperand::of<int32_t>(TENSOR_INT32, {static_cast<uint32_t>(axes.size())}, axes),
         TestOperand::boolean(true)});
  };
  const TestOperand low = apply(MINIMUM, {reduce(REDUCE_MIN), number(0)});
  const TestOperand high = apply(MAXIMUM, {reduce(REDUCE_MAX), number(0)});
  const TestOperand range = apply(MAXIMUM, {arithmetic(SUB, high, low), number(1e-30f)});
  const TestOperand perUnit = arithmetic(DIV, number(255), range);
  const TestOperand zeroPoint =
      apply(FLOOR, {arithmetic(SUB, number(-127.5f), arithmetic(MUL, low, perUnit))});
  const TestOperand units =
      apply(FLOOR, {arithmetic(ADD, arithmetic(MUL, x, perUnit), number(0.5f))});
  const TestOperand least = arithmetic(SUB, number(-128), zeroPoint);
  const TestOperand greatest = arithmetic(SUB, number(127), zeroPoint);
  const TestOperand clamped = apply(MINIMUM, {apply(MAXIMUM, {units, least}), greatest});
  return arithmetic(MUL, clamped, arithmetic(DIV, range, number(255))).values<float>();
}

TEST(RoundToDynamicRange, IsWhatTheOperationsOfTheApiCompute) {
  RandomOperands random(811);
  for (int round = 0; round < 200; ++round) {
    const Shape dims = randomShape(random, 1, 4, 9);
    const auto axis = random.between(0, static_cast<int>(dims.size()) - 1);
    Floats values(elementsOf(dims));
    const float low = random.oneOf({-3.0f, 0.0f, 0.5f, -1e-6f});
    const float high = random.oneOf({4.0f, 0.6f, 1e6f});
    for (float& value : values) value = random.realBetween(low, high);
    if (random.between(0, 9) == 0) std::fill(values.begin(), values.end(), 0.0f);
    const TestOperand x = TestOperand::of<float>(TENSOR_FLOAT32, dims, values);
    EXPECT_EQ(rounded(values, dims, axis), roundedByTheApi(x, axis))
        << fmt::format("{} axis {} round {}", fmt::join(dims, "x"), axis, round);
  }
}

TEST(RoundToDynamicRange, RoundsToStepsOfTheRowsRange) {
  // Steps of 1: from -55 to 200.
  EXPECT_EQ(rounded({-55, 200, 0.4f, 0.6f, -0.6f, 10.25f}, {1, 6}, 1),
            (Floats{-55, 200, 0, 1, -1, 10}));
  // Zero belongs to the range of positive values.
  EXPECT_EQ(rounded({100, 255, 99.6f}, {3}, 0), (Floats{100, 255, 100}));
  // Separate rows, or one row for both.
  EXPECT_EQ(rounded({255, 1.4f, 25.5f, 0.14f}, {2, 2}, 1), (Floats{255, 1, 25.5f, 0.1f}));
  EXPECT_EQ(rounded({255, 1.4f, 25.5f, 0.14f}, {2, 2}, 0), (Floats{255, 1, 26, 0}));
  EXPECT_EQ(rounded({0, 0}, {2}, 0), (Floats{0, 0}));
}

TEST(RoundToDynamicRange, ARowThatIsNotFiniteIsNoNumber) {
  for (const float bad : {kInfinity, -kInfinity, std::nanf("")}) {
    const Floats y = rounded({1, bad, 2, 4, 4, 4}, {2, 3}, 1);
    for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(std::isnan(y[i])) << bad << " at " << i;
    EXPECT_EQ(y[3], 4.0f);
  }
  // The values are finite, but their range is not.
  EXPECT_TRUE(std::isnan(rounded({-3e38f, 3e38f, 0}, {3}, 0)[2]));
}

TEST(RoundToDynamicRange, TheAxisHasToExist) {
  for (const int32_t axis : {-1, 2}) {
    std::vector<TestOperand> inputs = {TestOperand::of<float>(TENSOR_FLOAT32, {1, 2}, {1, 2}),
                                       TestOperand::int32(axis)};
    std::vector<TestOperand> outputs = {TestOperand::output(TENSOR_FLOAT32)};
    const Status status = runOperation(ROUND_TO_DYNAMIC_RANGE, inputs, outputs);
    EXPECT_EQ(status.code(), ResultCode::OP_FAILED);
    EXPECT_EQ(status.message(), fmt::format("input 1 (axis) is {}, expected 0 to 1", axis));
  }
}

}  // namespace
}  // namespace halyard::ops::testing
