// Tests of UNIQUE.
#include <cmath>

#include "ops/moves_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;
using ::testing::ElementsAre;

TEST(Unique, KeepsTheOrderOfFirstOccurrences) {
  std::vector<TestOperand> inputs = {intList({5, -1, 5, kIntMin, -1, 7})};
  std::vector<TestOperand> outputs = {TestOperand::output(TENSOR_INT32),
                                      TestOperand::output(TENSOR_INT32)};
  const Status status = runOperation(OperationType::UNIQUE, inputs, outputs);
  ASSERT_TRUE(status.ok()) << status.toString();
  EXPECT_THAT(outputs[0].values<int32_t>(), ElementsAre(5, -1, kIntMin, 7));
  EXPECT_THAT(outputs[1].values<int32_t>(), ElementsAre(0, 1, 0, 2, 1, 3));
}

TEST(Unique, EachNanIsDistinctAndZerosAreOne) {
  std::vector<TestOperand> inputs = {
      TestOperand::of<float>(TENSOR_FLOAT32, {5}, {NAN, 0.0f, NAN, -0.0f, 1})};
  std::vector<TestOperand> outputs = {TestOperand::output(TENSOR_FLOAT32),
                                      TestOperand::output(TENSOR_INT32)};
  const Status status = runOperation(OperationType::UNIQUE, inputs, outputs);
  ASSERT_TRUE(status.ok()) << status.toString();
  EXPECT_THAT(outputs[1].values<int32_t>(), ElementsAre(0, 1, 2, 1, 3));
  EXPECT_EQ(outputs[0].tensor.dims, Shape{4});
  EXPECT_EQ(outputs[0].values<float>()[3], 1);
}

}  // namespace
}  // namespace halyard::ops::testing
