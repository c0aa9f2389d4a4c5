// Tests of LOGICAL_AND, LOGICAL_NOT and LOGICAL_OR.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/naive_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;
using ::testing::ElementsAre;

TestOperand truths(const Shape& dims, const std::vector<uint8_t>& bytes) {
  return TestOperand::of<uint8_t>(TENSOR_BOOL8, dims, bytes);
}
TestOperand truthOutput() { return TestOperand::output(TENSOR_BOOL8); }

TEST(Logical, AnyByteButZeroIsTrue) {
  const TestOperand a = truths({4}, {0, 0, 2, 4});
  const TestOperand b = truths({4}, {0, 8, 0, 1});
  EXPECT_THAT(resultOf(OperationType::LOGICAL_AND, {a, b}, truthOutput()).bytes,
              ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(resultOf(OperationType::LOGICAL_OR, {a, b}, truthOutput()).bytes,
              ElementsAre(0, 1, 1, 1));
  EXPECT_THAT(resultOf(OperationType::LOGICAL_NOT, {a}, truthOutput()).bytes,
              ElementsAre(1, 1, 0, 0));
}

TEST(Logical, Broadcasts) {
  const TestOperand a = truths({2, 1}, {1, 0});
  const TestOperand b = truths({1, 1, 3}, {0, 1, 255});
  const TestOperand both = resultOf(OperationType::LOGICAL_AND, {a, b}, truthOutput());
  EXPECT_EQ(both.tensor.dims, (Shape{1, 2, 3}));
  EXPECT_THAT(both.bytes, ElementsAre(0, 1, 1, 0, 0, 0));
  EXPECT_THAT(resultOf(OperationType::LOGICAL_OR, {b, a}, truthOutput()).bytes,
              ElementsAre(1, 1, 1, 0, 1, 1));
}

TEST(Logical, TakesAnyRank) {
  const Shape shape = {1, 2, 1, 1, 1, 2};
  const TestOperand result =
      resultOf(OperationType::LOGICAL_NOT, {truths(shape, {0, 1, 3, 0})}, truthOutput());
  EXPECT_EQ(result.tensor.dims, shape);
  EXPECT_THAT(result.bytes, ElementsAre(1, 0, 0, 1));
}

TEST(Logical, Refuses) {
  for (OperationType op : {OperationType::LOGICAL_AND, OperationType::LOGICAL_OR}) {
    expectFailure(op, {truths({2}, {1, 1}), truths({3}, {1, 1, 1})}, {truthOutput()},
                  "cannot be broadcast");
    expectTypeLevels(op, {{TENSOR_BOOL8, 3}});
  }
  expectFailure(OperationType::LOGICAL_NOT, {truths({0}, {})}, {truthOutput()}, "zero-sized");
  expectTypeLevels(OperationType::LOGICAL_NOT, {{TENSOR_BOOL8, 3}});
}

}  // namespace
}  // namespace halyard::ops::testing
