// Tests of TRANSPOSE by every permutation against copying by coordinates.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "ops/naive_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;

void checkOne(const TestOperand& x, const std::vector<int32_t>& order, bool omit) {
  const Shape& dims = x.tensor.dims;
  Shape shape;
  for (int32_t d : order) shape.push_back(dims[static_cast<size_t>(d)]);
  const std::vector<double> from = realValues(x);
  std::vector<double> expected(from.size());
  for (size_t i = 0; i < from.size(); ++i) {
    const std::vector<size_t> at = coordinatesOf(i, dims);
    std::vector<size_t> to;
    for (int32_t d : order) to.push_back(at[static_cast<size_t>(d)]);
    expected[indexOf(to, shape)] = from[i];
  }
  std::vector<TestOperand> inputs = {x, omit ? TestOperand::omitted(TENSOR_INT32) : intList(order)};
  std::vector<TestOperand> outputs = {outputLike(x)};
  const Status status = runOperation(OperationType::TRANSPOSE, inputs, outputs);
  ASSERT_TRUE(status.ok()) << status.toString();
  EXPECT_EQ(outputs[0].tensor.dims, shape);
  ASSERT_EQ(realValues(outputs[0]), expected)
      << fmt::format("{} [{}] by [{}]", operandTypeName(x.tensor.type), fmt::join(dims, ","),
                     fmt::join(order, ","));
}

TEST(Transpose, AgreesWithDefinition) {
  RandomOperands random(81);
  for (OperandType type :
       {TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED}) {
    for (size_t rank = 1; rank <= 4; ++rank) {
      std::vector<int32_t> order(rank);
      std::iota(order.begin(), order.end(), 0);
      do {
        Shape dims(rank);
        for (uint32_t& d : dims) d = static_cast<uint32_t>(random.between(1, 9));
        // One dimension is larger than the kernel's tiles.
        dims[static_cast<size_t>(random.between(0, static_cast<int>(rank) - 1))] = 41;
        checkOne(random.tensor(type, dims), order, false);
        if (HasFatalFailure()) return;
      } while (std::next_permutation(order.begin(), order.end()));
    }
  }
}

TEST(Transpose, WithoutPermutationReverses) {
  RandomOperands random(82);
  checkOne(random.tensor(TENSOR_FLOAT32, {70, 35}), {1, 0}, true);
  checkOne(random.tensor(TENSOR_QUANT8_ASYMM, {2, 3, 4}), {2, 1, 0}, true);
}

TEST(Transpose, ZeroSized) {
  RandomOperands random(83);
  const TestOperand x = random.tensor(TENSOR_FLOAT32, {2, 0, 3});
  EXPECT_EQ(inferredShapes(OperationType::TRANSPOSE, {x, intList({1, 2, 0})}, {outputLike(x)})[0],
            (Shape{0, 3, 2}));
}

TEST(Transpose, Refuses) {
  RandomOperands random(84);
  const TestOperand x = random.tensor(TENSOR_FLOAT32, {2, 3});
  const auto refuses = [&](const std::vector<int32_t>& order, const std::string& text) {
    expectFailure(OperationType::TRANSPOSE, {x, intList(order)}, {outputLike(x)}, text);
  };
  refuses({0}, "the permutation has 1 entries, the input has rank 2");
  refuses({}, "the permutation has 0 entries");
  refuses({0, 0}, "the permutation [0,0] is not one of 0 to 1");
  refuses({0, 2}, "the permutation [0,2]");
  refuses({-1, 0}, "the permutation [-1,0]");
}

}  // namespace
}  // namespace halyard::ops::testing
