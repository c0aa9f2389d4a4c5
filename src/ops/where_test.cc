// Tests of WHERE.
#include "ops/moves_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;
using ::testing::ElementsAre;

TestOperand placesOf(const TestOperand& condition) {
  return resultOf(OperationType::WHERE, {condition}, TestOperand::output(TENSOR_INT32));
}

TEST(Where, ListsCoordinatesInOrder) {
  const TestOperand places =
      placesOf(TestOperand::of<uint8_t>(TENSOR_BOOL8, {2, 3}, {0, 1, 0, 255, 0, 1}));
  EXPECT_EQ(places.tensor.dims, (Shape{3, 2}));
  EXPECT_THAT(places.values<int32_t>(), ElementsAre(0, 1, 1, 0, 1, 2));
  EXPECT_THAT(placesOf(intTensor({4}, {0, -3, 0, 9})).values<int32_t>(), ElementsAre(1, 3));
  EXPECT_THAT(placesOf(TestOperand::of<float>(TENSOR_FLOAT32, {1, 1, 3}, {0.5f, -0.0f, 1e-30f}))
                  .values<int32_t>(),
              ElementsAre(0, 0, 0, 0, 0, 2));
}

TEST(Where, OfZerosIsEmpty) {
  EXPECT_EQ(placesOf(intTensor({2, 2}, {0, 0, 0, 0})).tensor.dims, (Shape{0, 2}));
}

TEST(Where, NeedsTheValuesForItsShape) {
  EXPECT_EQ(inferenceOf(OperationType::WHERE, {unknownValue(TENSOR_INT32, {3})},
                        {TestOperand::output(TENSOR_INT32)})
                .code(),
            ResultCode::INCOMPLETE);
}

}  // namespace
}  // namespace halyard::ops::testing
