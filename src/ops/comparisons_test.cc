// Tests of the six comparisons against their definitions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "ops/naive_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;
using ::testing::ElementsAre;

struct Comparison {
  OperationType op;
  bool (*holds)(double, double);
};
const Comparison kComparisons[] = {
    {OperationType::EQUAL, [](double x, double y) { return x == y; }},
    {OperationType::NOT_EQUAL, [](double x, double y) { return x != y; }},
    {OperationType::GREATER, [](double x, double y) { return x > y; }},
    {OperationType::GREATER_EQUAL, [](double x, double y) { return x >= y; }},
    {OperationType::LESS, [](double x, double y) { return x < y; }},
    {OperationType::LESS_EQUAL, [](double x, double y) { return x <= y; }},
};

std::vector<uint8_t> compared(OperationType op, const TestOperand& a, const TestOperand& b) {
  return resultOf(op, {a, b}, TestOperand::output(TENSOR_BOOL8)).values<uint8_t>();
}

TEST(Comparisons, AgreeWithDefinition) {
  RandomOperands random(211);
  for (int round = 0; round < 40; ++round) {
    const BroadcastShapes shapes = randomBroadcast(random, 5);
    for (const Comparison& comparison : kComparisons) {
      for (OperandType type : {TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_INT32, TENSOR_BOOL8,
                               TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED}) {
        const TestOperand a = fewNumbers(random, type, shapes.a);
        const TestOperand b = fewNumbers(random, type, shapes.b);
        std::vector<uint8_t> expected;
        for (double holds : broadcastNumbers(a, b, shapes.result, comparison.holds)) {
          expected.push_back(holds != 0 ? 1 : 0);
        }
        const TestOperand result =
            resultOf(comparison.op, {a, b}, TestOperand::output(TENSOR_BOOL8));
        EXPECT_EQ(result.tensor.dims, shapes.result);
        ASSERT_EQ(result.values<uint8_t>(), expected)
            << operationTypeName(comparison.op) << " of " << operandTypeName(type);
      }
    }
  }
}

TEST(Comparisons, AnyByteButZeroIsTrue) {
  const TestOperand a = TestOperand::of<uint8_t>(TENSOR_BOOL8, {4}, {0, 1, 2, 255});
  const TestOperand one = TestOperand::of<uint8_t>(TENSOR_BOOL8, {1}, {128});
  EXPECT_THAT(compared(OperationType::EQUAL, a, one), ElementsAre(0, 1, 1, 1));
  EXPECT_THAT(compared(OperationType::LESS, a, one), ElementsAre(1, 0, 0, 0));
}

TEST(Comparisons, NothingComparesWithNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const TestOperand a = TestOperand::of<float>(TENSOR_FLOAT32, {3}, {nan, nan, 1});
  const TestOperand b = TestOperand::of<float>(TENSOR_FLOAT32, {3}, {1, nan, nan});
  for (const Comparison& comparison : kComparisons) {
    const uint8_t expected = comparison.op == OperationType::NOT_EQUAL ? 1 : 0;
    EXPECT_THAT(compared(comparison.op, a, b), ElementsAre(expected, expected, expected));
  }
}

TEST(Comparisons, IntegersKeepAllTheirBits) {
  // As float32 these numbers are equal.
  const TestOperand a = intList({16777217, std::numeric_limits<int32_t>::max()});
  const TestOperand b = intList({16777216, std::numeric_limits<int32_t>::max() - 1});
  EXPECT_THAT(compared(OperationType::GREATER, a, b), ElementsAre(1, 1));
  EXPECT_THAT(compared(OperationType::EQUAL, a, b), ElementsAre(0, 0));
}

TEST(Comparisons, QuantizedCompareRealValues) {
  // Reals -254, 0 and 256 compared with 1/2 * (0 - 255) and so on. The stored values differ much.
  const TestOperand a = TestOperand::of<uint8_t>(TENSOR_QUANT8_ASYMM, {3}, {0, 127, 255}, 2, 127);
  const TestOperand b =
      TestOperand::of<uint8_t>(TENSOR_QUANT8_ASYMM, {3}, {0, 255, 255}, 0.5f, 255);
  EXPECT_THAT(compared(OperationType::LESS, a, b), ElementsAre(1, 0, 0));
  EXPECT_THAT(compared(OperationType::EQUAL, a, b), ElementsAre(0, 1, 0));
  EXPECT_THAT(compared(OperationType::GREATER_EQUAL, a, b), ElementsAre(0, 1, 1));
}

TEST(Comparisons, LevelsOfTypes) {
  for (const Comparison& comparison : kComparisons) {
    expectTypeLevels(comparison.op, {{TENSOR_BOOL8, 3},
                                     {TENSOR_FLOAT32, 3},
                                     {TENSOR_FLOAT16, 3},
                                     {TENSOR_INT32, 3},
                                     {TENSOR_QUANT8_ASYMM, 3},
                                     {TENSOR_QUANT8_ASYMM_SIGNED, 4}});
  }
}

TEST(Comparisons, Refuse) {
  for (const Comparison& comparison : kComparisons) {
    const TestOperand output = TestOperand::output(TENSOR_BOOL8);
    expectFailure(comparison.op, {intList({1, 2}), intList({1, 2, 3})}, {output},
                  "shapes [2] and [3] cannot be broadcast");
    expectFailure(comparison.op, {intList({}), intList({1})}, {output}, "zero-sized");
  }
}

}  // namespace
}  // namespace halyard::ops::testing
