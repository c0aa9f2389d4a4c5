// Tests of SHAPE of every type.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/moves_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;
using ::testing::ElementsAre;

TEST(ShapeOperation, OfEveryType) {
  for (const TypeRow& row : definitionOf(OperationType::SHAPE)->signature.rows) {
    const OperandType type = row.types[0];
    const TestOperand x = TestOperand::of<uint8_t>(type, {2, 1, 3, 1, 5},
                                                   std::vector<uint8_t>(30 * elementSize(type)), 1);
    const TestOperand y = resultOf(OperationType::SHAPE, {x}, TestOperand::output(TENSOR_INT32));
    EXPECT_EQ(y.tensor.dims, Shape{5});
    EXPECT_THAT(y.values<int32_t>(), ElementsAre(2, 1, 3, 1, 5)) << operandTypeName(type);
  }
}

TEST(ShapeOperation, OfWhatHasNoElements) {
  const TestOperand x = TestOperand::of<float>(TENSOR_FLOAT32, {0, 7}, {});
  EXPECT_THAT(
      resultOf(OperationType::SHAPE, {x}, TestOperand::output(TENSOR_INT32)).values<int32_t>(),
      ElementsAre(0, 7));
}

// The result depends only on the dimensions, so inference does not need the values.
TEST(ShapeOperation, NeedsNoValue) {
  EXPECT_TRUE(inferenceOf(OperationType::SHAPE, {unknownValue(TENSOR_FLOAT32, {2, 3})},
                          {TestOperand::output(TENSOR_INT32)})
                  .ok());
}

}  // namespace
}  // namespace halyard::ops::testing
