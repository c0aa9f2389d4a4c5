// Tests of CUMSUM against sums over all elements.
#include "ops/moves_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;
using ::testing::ElementsAre;

std::vector<int32_t> sumsOf(const TestOperand& x, int32_t axis, bool exclusive, bool reverse) {
  const TestOperand result = resultOf(
      OperationType::CUMSUM,
      {x, TestOperand::int32(axis), TestOperand::boolean(exclusive), TestOperand::boolean(reverse)},
      TestOperand::output(x.tensor.type));
  EXPECT_EQ(result.tensor.dims, x.tensor.dims);
  return result.values<int32_t>();
}

TEST(Cumsum, OfALine) {
  const TestOperand x = intList({1, 2, 3, 4});
  EXPECT_THAT(sumsOf(x, 0, false, false), ElementsAre(1, 3, 6, 10));
  EXPECT_THAT(sumsOf(x, -1, true, false), ElementsAre(0, 1, 3, 6));
  EXPECT_THAT(sumsOf(x, 0, false, true), ElementsAre(10, 9, 7, 4));
  EXPECT_THAT(sumsOf(x, 0, true, true), ElementsAre(9, 7, 4, 0));
  EXPECT_THAT(sumsOf(intList({kIntMax, 1}), 0, false, false), ElementsAre(kIntMax, kIntMin));
}

TEST(Cumsum, AlongAnyAxis) {
  RandomOperands random(961);
  for (int round = 0; round < 40; ++round) {
    const TestOperand x = fewNumbers(random, TENSOR_INT32, randomShape(random, 1, 5, 4));
    const Shape& dims = x.tensor.dims;
    const int axis = random.between(0, static_cast<int>(dims.size()) - 1);
    const auto d = static_cast<size_t>(axis);
    const bool exclusive = random.coin();
    const bool reverse = random.coin();
    const std::vector<int32_t> values = x.values<int32_t>();
    std::vector<int32_t> expected(values.size(), 0);
    for (size_t i = 0; i < values.size(); ++i) {
      Coordinates at = coordinatesOf(i, dims);
      const size_t own = at[d];
      for (size_t k = 0; k < dims[d]; ++k) {
        const bool counts = k == own ? !exclusive : (k < own) != reverse;
        at[d] = k;
        if (counts) expected[i] += values[indexOf(at, dims)];
      }
    }
    ASSERT_EQ(sumsOf(x, axis, exclusive, reverse), expected);
  }
}

TEST(Cumsum, OfFloats) {
  const TestOperand x = TestOperand::of<float>(TENSOR_FLOAT32, {2, 2}, {0.5f, 1, 2, 4});
  const TestOperand result =
      resultOf(OperationType::CUMSUM,
               {x, TestOperand::int32(0), TestOperand::boolean(false), TestOperand::boolean(false)},
               TestOperand::output(TENSOR_FLOAT32));
  EXPECT_THAT(result.values<float>(), ElementsAre(0.5f, 1, 2.5f, 5));
  expectFailure(
      OperationType::CUMSUM,
      {x, TestOperand::int32(2), TestOperand::boolean(false), TestOperand::boolean(false)},
      {TestOperand::output(TENSOR_FLOAT32)}, "axis is 2, expected -2 to 1");
}

}  // namespace
}  // namespace halyard::ops::testing
