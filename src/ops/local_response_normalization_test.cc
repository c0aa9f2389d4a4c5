// Tests of LOCAL_RESPONSE_NORMALIZATION against its formula, with windows from a single element to
// far more than a line.
#include <gtest/gtest.h>

#include <cmath>

#include "model/signature_for_test.h"
#include "ops/lines_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;
using enum OperationType;

struct Scalars {
  int radius = 1;
  float bias = 1;
  float alpha = 1;
  float beta = 1;
};

std::vector<TestOperand> operandsFor(const TestOperand& x, const Scalars& s) {
  const OperandType type = x.tensor.type;
  return {x, TestOperand::int32(s.radius), realScalar(type, s.bias), realScalar(type, s.alpha),
          realScalar(type, s.beta)};
}

Line normalized(const Line& line, const Scalars& s) {
  const int64_t count = static_cast<int64_t>(line.size());
  Line result;
  for (int64_t i = 0; i < count; ++i) {
    double squares = 0;
    for (int64_t d = 0; d < count; ++d) {
      if (std::abs(d - i) <= s.radius) squares += line[size_t(d)] * line[size_t(d)];
    }
    const double base = static_cast<double>(s.bias) + static_cast<double>(s.alpha) * squares;
    result.push_back(line[size_t(i)] * std::pow(base, -static_cast<double>(s.beta)));
  }
  return result;
}

void expectAgreement(RandomOperands& random, OperandType type, const Shape& dims, int radius) {
  const TestOperand x = random.tensor(type, dims);
  // Binary fractions, which float16 represents exactly.
  const Scalars s = {radius, random.oneOf({0.5f, 1.0f, 9.0f}), random.oneOf({0.25f, 1.0f, 4.0f}),
                     random.oneOf({0.5f, 0.75f, 1.0f, -1.5f, 0.0f})};
  const RandomAxis axis = randomAxis(random, dims.size(), true);
  std::vector<TestOperand> inputs = operandsFor(x, s);
  inputs.insert(inputs.end(), axis.operand.begin(), axis.operand.end());
  std::vector<TestOperand> outputs = {TestOperand::output(type)};
  const std::string what = fmt::format("{} {} axis {} radius {}", operandTypeName(type),
                                       fmt::join(dims, "x"), axis.resolved, radius);
  const Status status = runOperation(LOCAL_RESPONSE_NORMALIZATION, inputs, outputs);
  ASSERT_TRUE(status.ok()) << status.toString() << "\n" << what;
  EXPECT_EQ(outputs[0].tensor.dims, dims);
  expectReals(
      outputs[0],
      mapLines(realValues(x), dims, axis.resolved, [&](const Line& l) { return normalized(l, s); }),
      what);
}

TEST(LocalResponseNormalization, AgreesWithFormula) {
  RandomOperands random(231);
  for (int round = 0; round < 30; ++round) {
    for (OperandType type : {TENSOR_FLOAT32, TENSOR_FLOAT16}) {
      expectAgreement(random, type, randomShape(random, 1, 4, 9), random.between(0, 10));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(LocalResponseNormalization, EveryRadiusOfEveryLength) {
  RandomOperands random(232);
  for (uint32_t length = 1; length <= 24; ++length) {
    for (int radius = 0; radius <= static_cast<int>(length) + 2; ++radius) {
      expectAgreement(random, TENSOR_FLOAT32, {length}, radius);
      if (HasFatalFailure()) return;
    }
    expectAgreement(random, TENSOR_FLOAT32, {length}, INT32_MAX);
  }
}

TEST(LocalResponseNormalization, WideWindowsOverLongLines) {
  // Each of a million sums over a million elements would take minutes. The small elements after a
  // large one keep their precision.
  const uint32_t count = 1000000;
  std::vector<float> x(count, 1);
  x[0] = 1e15f;
  const Scalars s = {static_cast<int>(count / 2), 1, 1, 1};
  std::vector<TestOperand> inputs =
      operandsFor(TestOperand::of<float>(TENSOR_FLOAT32, {count}, x), s);
  std::vector<TestOperand> outputs = {TestOperand::output(TENSOR_FLOAT32)};
  ASSERT_TRUE(runOperation(LOCAL_RESPONSE_NORMALIZATION, inputs, outputs).ok());
  const std::vector<float> y = outputs[0].values<float>();
  EXPECT_FLOAT_EQ(y[count - 1], 1.0f / (1 + count / 2 + 1));
  EXPECT_FLOAT_EQ(y[count / 2 + 1], 1.0f / (1 + count - 1));
  EXPECT_FLOAT_EQ(y[count / 2], 1e-30f);
}

TEST(LocalResponseNormalization, Levels) {
  const auto level = [](OperandType type, OperandType scalar, size_t rank, bool axis) {
    std::vector<TypeAndRank> inputs = {
        {type, rank}, {INT32, 0}, {scalar, 0}, {scalar, 0}, {scalar, 0}};
    if (axis) inputs.push_back({INT32, 0});
    return levelNeeded(LOCAL_RESPONSE_NORMALIZATION, inputs, {type, rank});
  };
  EXPECT_EQ(level(TENSOR_FLOAT32, FLOAT32, 4, false), 1);
  EXPECT_EQ(level(TENSOR_FLOAT32, FLOAT32, 4, true), 3);
  EXPECT_EQ(level(TENSOR_FLOAT32, FLOAT32, 2, false), 3);
  EXPECT_EQ(level(TENSOR_FLOAT16, FLOAT16, 4, false), 3);
}

TEST(LocalResponseNormalization, Refuses) {
  RandomOperands random(233);
  const TestOperand x = random.tensor(TENSOR_FLOAT32, {2, 3});
  const auto refuses = [&](const TestOperand& input, const Scalars& s, int axis,
                           const std::string& text) {
    std::vector<TestOperand> inputs = operandsFor(input, s);
    inputs.push_back(TestOperand::int32(axis));
    expectFailure(LOCAL_RESPONSE_NORMALIZATION, inputs, {outputLike(x)}, text);
  };
  refuses(x, {.radius = -1}, 0, "radius is -1, expected 0 or more");
  refuses(x, {}, 2, "axis is 2, expected -2 to 1 for a tensor of rank 2");
  refuses(x, {}, -3, "axis is -3");
  refuses(random.tensor(TENSOR_FLOAT32, {1, 1, 1, 1, 2}), {}, 0, "input has rank 5");
  refuses(random.tensor(TENSOR_FLOAT32, {2, 0}), {}, 0, "zero-sized");
}

}  // namespace
}  // namespace halyard::ops::testing
