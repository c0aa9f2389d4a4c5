// Tests of SCATTER_ND with values by hand.
#include "ops/moves_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;
using ::testing::ElementsAre;

TestOperand floatTensor(const Shape& dims, const std::vector<float>& values) {
  return TestOperand::of<float>(TENSOR_FLOAT32, dims, values);
}

TEST(ScatterNd, AddsElementsAndSlices) {
  const TestOperand elements =
      resultOf(OperationType::SCATTER_ND,
               {intTensor({4, 1}, {4, 3, 1, 4}), floatTensor({4}, {9, 10, 11, 0.5f}), intList({6})},
               TestOperand::output(TENSOR_FLOAT32));
  EXPECT_THAT(elements.values<float>(), ElementsAre(0, 11, 0, 10, 9.5f, 0));
  const TestOperand slices = resultOf(
      OperationType::SCATTER_ND,
      {intTensor({2, 2}, {1, 0, 0, 1}), intTensor({2, 2}, {1, 2, 3, 4}), intList({2, 2, 2})},
      TestOperand::output(TENSOR_INT32));
  EXPECT_EQ(slices.tensor.dims, (Shape{2, 2, 2}));
  EXPECT_THAT(slices.values<int32_t>(), ElementsAre(0, 0, 3, 4, 1, 2, 0, 0));
  const TestOperand one = resultOf(OperationType::SCATTER_ND,
                                   {intTensor({2}, {1, 1}), intTensor({1}, {7}), intList({2, 2})},
                                   TestOperand::output(TENSOR_INT32));
  EXPECT_THAT(one.values<int32_t>(), ElementsAre(0, 0, 0, 7));
}

TEST(ScatterNd, RefusesPlacesOutsideAndOtherShapes) {
  const auto refuses = [](const TestOperand& indices, const TestOperand& updates,
                          const std::vector<int32_t>& shape, const std::string& text) {
    expectFailure(OperationType::SCATTER_ND, {indices, updates, intList(shape)},
                  {TestOperand::output(updates.tensor.type)}, text);
  };
  refuses(intTensor({1, 1}, {3}), floatTensor({1}, {1}), {3},
          "tuple 0 of indices has 3 at 0, expected 0 to 2 for dimension 0 of [3]");
  refuses(intTensor({1, 1}, {-1}), floatTensor({1}, {1}), {3}, "has -1 at 0");
  refuses(intTensor({1, 2}, {0, 0}), floatTensor({1}, {1}), {3}, "expected tuples of 1 to 1");
  refuses(intTensor({2, 1}, {0, 1}), floatTensor({2, 2}, {1, 1, 1, 1}), {3, 3}, "need [2,3]");
  refuses(intTensor({1, 1}, {0}), floatTensor({1}, {1}), {0}, "expected at least 1");
}

}  // namespace
}  // namespace halyard::ops::testing
