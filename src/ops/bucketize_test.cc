// Tests of BUCKETIZE.
#include <cmath>

#include "ops/moves_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;
using ::testing::ElementsAre;

TestOperand boundaries(const std::vector<float>& values) {
  return TestOperand::of<float>(TENSOR_FLOAT32, {static_cast<uint32_t>(values.size())}, values);
}

TEST(Bucketize, CountsTheBoundariesThatAreReached) {
  const TestOperand x =
      TestOperand::of<float>(TENSOR_FLOAT32, {2, 3}, {-5, 0, 9.5f, 10, 150, INFINITY});
  const TestOperand result = resultOf(OperationType::BUCKETIZE, {x, boundaries({0, 10, 100})},
                                      TestOperand::output(TENSOR_INT32));
  EXPECT_EQ(result.tensor.dims, (Shape{2, 3}));
  EXPECT_THAT(result.values<int32_t>(), ElementsAre(0, 1, 1, 2, 3, 3));
  EXPECT_THAT(resultOf(OperationType::BUCKETIZE, {intList({-1, 2, 3}), boundaries({2, 2})},
                       TestOperand::output(TENSOR_INT32))
                  .values<int32_t>(),
              ElementsAre(0, 2, 2));
}

TEST(Bucketize, RefusesBoundariesThatFall) {
  expectFailure(OperationType::BUCKETIZE, {intList({1}), boundaries({1, 3, 2})},
                {TestOperand::output(TENSOR_INT32)},
                "boundary 1 is 3, expected at most the next, 2");
}

}  // namespace
}  // namespace halyard::ops::testing
