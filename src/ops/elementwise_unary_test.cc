// Tests of ABS, EXP, FLOOR, LOG, NEG, RSQRT, SIN and SQRT against their definitions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/naive_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;
using ::testing::ElementsAre;
using ::testing::IsNan;

struct Function {
  OperationType op;
  float low;  // of the arguments
  float high;
  double (*exact)(double);
};
const Function kFunctions[] = {
    {OperationType::ABS, -9, 9, [](double x) { return x < 0 ? -x : x; }},
    {OperationType::EXP, -9, 6, [](double x) { return std::exp(x); }},
    {OperationType::FLOOR, -9, 9, [](double x) { return std::floor(x); }},
    {OperationType::LOG, 0.01f, 50, [](double x) { return std::log(x); }},
    {OperationType::NEG, -9, 9, [](double x) { return 0 - x; }},
    {OperationType::RSQRT, 0.01f, 50, [](double x) { return std::pow(x, -0.5); }},
    {OperationType::SIN, -20, 20, [](double x) { return std::sin(x); }},
    {OperationType::SQRT, 0, 50, [](double x) { return std::pow(x, 0.5); }},
};

TEST(ElementwiseUnary, AgreesWithDefinition) {
  RandomOperands random(201);
  for (int round = 0; round < 20; ++round) {
    for (const Function& function : kFunctions) {
      const int highestRank = function.op == OperationType::FLOOR ? 4 : 6;
      const Shape shape = randomShape(random, 1, highestRank, 4);
      std::vector<float> values(elementsOf(shape));
      std::vector<Float16> halves;
      for (float& value : values) {
        value = random.realBetween(function.low, function.high);
        halves.push_back(toFloat16(value));
      }
      for (const TestOperand& x : {TestOperand::of<float>(TENSOR_FLOAT32, shape, values),
                                   TestOperand::of<Float16>(TENSOR_FLOAT16, shape, halves)}) {
        std::vector<double> expected;
        for (double real : realValues(x)) expected.push_back(function.exact(real));
        const TestOperand result = resultOf(function.op, {x}, TestOperand::output(x.tensor.type));
        EXPECT_EQ(result.tensor.dims, shape);
        expectReals(result, expected, operationTypeName(function.op));
      }
    }
  }
}

TEST(ElementwiseUnary, FloatsFollowIeee) {
  EXPECT_THAT(floatsOf(OperationType::LOG, {0, 1, -1, kInfinity}),
              ElementsAre(-kInfinity, 0, IsNan(), kInfinity));
  EXPECT_THAT(floatsOf(OperationType::SQRT, {0, 4, -1, kInfinity}),
              ElementsAre(0, 2, IsNan(), kInfinity));
  EXPECT_THAT(floatsOf(OperationType::RSQRT, {0, 4, -1, kInfinity}),
              ElementsAre(kInfinity, 0.5f, IsNan(), 0));
  EXPECT_THAT(floatsOf(OperationType::EXP, {-kInfinity, 0, 1000}), ElementsAre(0, 1, kInfinity));
  EXPECT_THAT(floatsOf(OperationType::ABS, {-kInfinity, -0.0f, kNan}),
              ElementsAre(kInfinity, 0, IsNan()));
  EXPECT_THAT(floatsOf(OperationType::SIN, {kInfinity, 0}), ElementsAre(IsNan(), 0));
  EXPECT_THAT(floatsOf(OperationType::FLOOR, {-0.5f, 0.99f, -kInfinity, kNan, 3e30f}),
              ElementsAre(-1, 0, -kInfinity, IsNan(), 3e30f));
  EXPECT_TRUE(std::signbit(floatsOf(OperationType::NEG, {0})[0]));
  EXPECT_FALSE(std::signbit(floatsOf(OperationType::ABS, {-0.0f})[0]));
}

TEST(ElementwiseUnary, IntegersWrap) {
  constexpr int32_t kMin = std::numeric_limits<int32_t>::min();
  constexpr int32_t kMax = std::numeric_limits<int32_t>::max();
  const auto integersOf = [](OperationType op) {
    return resultOf(op, {intList({5, -5, 0, kMin, kMax})}, TestOperand::output(TENSOR_INT32))
        .values<int32_t>();
  };
  EXPECT_THAT(integersOf(OperationType::ABS), ElementsAre(5, 5, 0, kMin, kMax));
  EXPECT_THAT(integersOf(OperationType::NEG), ElementsAre(-5, 5, 0, kMin, -kMax));
}

TEST(ElementwiseUnary, QuantizedRsqrt) {
  for (OperandType type : {TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED}) {
    const ClampRange<int32_t> range = quantizedRange(type);
    std::vector<uint8_t> all(256);
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint8_t>(i);
    const int zeroPoint = range.min + 40;
    const TestOperand x = TestOperand::of<uint8_t>(type, {2, 128}, all, 0.125f, zeroPoint);
    // Results range from 1/sqrt(215 / 8), about 0.19, to 1/sqrt(1/8), about 2.83.
    const TestOperand result =
        resultOf(OperationType::RSQRT, {x}, TestOperand::output(type, 0.012f, range.min + 3));
    for (size_t i = 0; i < all.size(); ++i) {
      const bool isSigned = type == TENSOR_QUANT8_ASYMM_SIGNED;
      const auto stored = [&](uint8_t byte) { return isSigned ? int8_t(byte) : int{byte}; };
      const int q = stored(all[i]);
      const int got = stored(result.bytes[i]);
      if (q <= zeroPoint) {
        EXPECT_EQ(got, range.max) << q;
      } else {
        const double units = 1 / std::sqrt(0.125 * (q - zeroPoint)) / static_cast<double>(0.012f);
        EXPECT_EQ(got, static_cast<int>(std::round(units)) + range.min + 3) << q;
      }
    }
  }
  // A small scale of the output saturates.
  EXPECT_THAT(resultOf(OperationType::RSQRT,
                       {TestOperand::of<int8_t>(TENSOR_QUANT8_ASYMM_SIGNED, {2}, {1, 100}, 1)},
                       TestOperand::output(TENSOR_QUANT8_ASYMM_SIGNED, 0.001f, 0))
                  .values<int8_t>(),
              ElementsAre(127, 100));
}

TEST(ElementwiseUnary, LevelsOfTypes) {
  for (OperationType op :
       {OperationType::EXP, OperationType::LOG, OperationType::SIN, OperationType::SQRT}) {
    expectTypeLevels(op, {{TENSOR_FLOAT32, 3}, {TENSOR_FLOAT16, 3}});
  }
  expectTypeLevels(OperationType::FLOOR, {{TENSOR_FLOAT32, 1}, {TENSOR_FLOAT16, 3}});
  expectTypeLevels(OperationType::ABS,
                   {{TENSOR_FLOAT32, 3}, {TENSOR_FLOAT16, 3}, {TENSOR_INT32, 4}});
  expectTypeLevels(OperationType::NEG,
                   {{TENSOR_FLOAT32, 3}, {TENSOR_FLOAT16, 3}, {TENSOR_INT32, 3}});
  expectTypeLevels(OperationType::RSQRT, {{TENSOR_FLOAT32, 3},
                                          {TENSOR_FLOAT16, 3},
                                          {TENSOR_QUANT8_ASYMM, 7},
                                          {TENSOR_QUANT8_ASYMM_SIGNED, 7}});
}

TEST(ElementwiseUnary, Refuses) {
  RandomOperands random(202);
  const TestOperand output = TestOperand::output(TENSOR_FLOAT32);
  expectFailure(OperationType::FLOOR, {random.tensor(TENSOR_FLOAT32, {1, 1, 1, 1, 2})}, {output},
                "input has rank 5 [1,1,1,1,2], expected rank 1 to 4");
  for (const Function& function : kFunctions) {
    expectFailure(function.op, {random.tensor(TENSOR_FLOAT32, {2, 0})}, {output}, "zero-sized");
    expectFailure(function.op, {TestOperand::omitted(TENSOR_FLOAT32)}, {output}, "has no value");
  }
}

}  // namespace
}  // namespace halyard::ops::testing
