// Tests of ATAN2, FLOOR_MOD, TRUNCATED_DIV, BITWISE_XOR and shifts with values by hand.
#include <cmath>
#include <limits>

#include "ops/naive_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;
using ::testing::ElementsAre;
using ::testing::FloatNear;

constexpr int32_t kLeastOperand = std::numeric_limits<int32_t>::min();

std::vector<int32_t> integersOf(OperationType type, const std::vector<int32_t>& a,
                                const std::vector<int32_t>& b) {
  return resultOf(type, {intList(a), intList(b)}, TestOperand::output(TENSOR_INT32))
      .values<int32_t>();
}

TestOperand floatList(const std::vector<float>& values) {
  return TestOperand::of<float>(TENSOR_FLOAT32, {static_cast<uint32_t>(values.size())}, values);
}

TEST(BinaryFunctions, TruncatedDivRoundsTowardsZero) {
  EXPECT_THAT(integersOf(OperationType::TRUNCATED_DIV, {7, -7, 7, -7, 5, kLeastOperand},
                         {2, 2, -2, -2, 0, -1}),
              ElementsAre(3, -3, -3, 3, 0, kLeastOperand));
}

TEST(BinaryFunctions, RemaindersHaveTheSignOfTheDivisor) {
  EXPECT_THAT(integersOf(OperationType::FLOOR_MOD, {7, -7, 7, -7, 6, 5, kLeastOperand},
                         {3, 3, -3, -3, 3, 0, -1}),
              ElementsAre(1, 2, -2, -1, 0, 5, 0));
  const TestOperand result = resultOf(
      OperationType::FLOOR_MOD, {floatList({7.5f, -7.5f, 7.5f, -7.5f}), floatList({2, 2, -2, -2})},
      TestOperand::output(TENSOR_FLOAT32));
  EXPECT_THAT(result.values<float>(), ElementsAre(1.5f, 0.5f, -0.5f, -1.5f));
}

TEST(BinaryFunctions, BitsAndShifts) {
  EXPECT_THAT(
      integersOf(OperationType::BITWISE_XOR, {12, -1, kLeastOperand}, {10, 5, kLeastOperand}),
      ElementsAre(6, -6, 0));
  EXPECT_THAT(
      integersOf(OperationType::RIGHT_SHIFT, {13, -13, kLeastOperand, -1, 8}, {2, 2, 40, 31, -1}),
      ElementsAre(3, -4, -1, -1, 8));
  EXPECT_THAT(integersOf(OperationType::LEFT_SHIFT, {13, -13, 3, 1, 8, 8}, {2, 2, 31, 31, -1, 32}),
              ElementsAre(52, -52, kLeastOperand, kLeastOperand, 0, 0));
}

TEST(BinaryFunctions, Atan2BroadcastsAndKnowsTheQuadrant) {
  const float pi = std::acos(-1.0f);
  const TestOperand y = TestOperand::of<float>(TENSOR_FLOAT32, {2, 1}, {1, -1});
  const TestOperand result = resultOf(OperationType::ATAN2, {y, floatList({1, 0, -1})},
                                      TestOperand::output(TENSOR_FLOAT32));
  EXPECT_EQ(result.tensor.dims, (Shape{2, 3}));
  EXPECT_THAT(result.values<float>(),
              ElementsAre(FloatNear(pi / 4, 1e-6f), FloatNear(pi / 2, 1e-6f),
                          FloatNear(3 * pi / 4, 1e-6f), FloatNear(-pi / 4, 1e-6f),
                          FloatNear(-pi / 2, 1e-6f), FloatNear(-3 * pi / 4, 1e-6f)));
}

TEST(BinaryFunctions, ShapesMustBroadcast) {
  for (const OperationType type : {OperationType::BITWISE_XOR, OperationType::FLOOR_MOD}) {
    expectFailure(type, {intList({1, 2}), intList({1, 2, 3})}, {TestOperand::output(TENSOR_INT32)},
                  "[2]");
  }
}

}  // namespace
}  // namespace halyard::ops::testing
