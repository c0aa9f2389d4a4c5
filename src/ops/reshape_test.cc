// RESHAPE: shapes, the inferred dimension, the bytes of every type.
#include <gtest/gtest.h>

#include "ops/naive_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;

TEST(Reshape, KeepsBytesOfEveryType) {
  RandomOperands random(5);
  for (OperandType type :
       {TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED}) {
    const TestOperand input = random.tensor(type, {2, 3, 4});
    std::vector<TestOperand> inputs = {input, intList({4, -1, 1, 2, 1})};
    std::vector<TestOperand> outputs = {outputLike(input)};
    const Status status = runOperation(OperationType::RESHAPE, inputs, outputs);
    ASSERT_TRUE(status.ok()) << status.toString();
    EXPECT_EQ(outputs[0].tensor.dims, (Shape{4, 3, 1, 2, 1}));
    EXPECT_EQ(outputs[0].bytes, input.bytes);
  }
  std::vector<TestOperand> inputs = {intList({1, -2, 3}), intList({3, 1})};
  std::vector<TestOperand> outputs = {TestOperand::output(TENSOR_INT32)};
  ASSERT_TRUE(runOperation(OperationType::RESHAPE, inputs, outputs).ok());
  EXPECT_EQ(outputs[0].bytes, inputs[0].bytes);
}

TEST(Reshape, FillsInMinusOne) {
  RandomOperands random(6);
  const auto shapeOf = [&](const Shape& input, const std::vector<int32_t>& target) {
    const TestOperand x = random.tensor(TENSOR_FLOAT32, input);
    return inferredShapes(OperationType::RESHAPE, {x, intList(target)}, {outputLike(x)})[0];
  };
  EXPECT_EQ(shapeOf({2, 3, 4}, {-1}), (Shape{24}));
  EXPECT_EQ(shapeOf({2, 3, 4}, {6, -1}), (Shape{6, 4}));
  EXPECT_EQ(shapeOf({2, 3, 4}, {24, -1}), (Shape{24, 1}));
  EXPECT_EQ(shapeOf({1}, {1, 1, -1, 1, 1}), (Shape{1, 1, 1, 1, 1}));
}

TEST(Reshape, Refuses) {
  RandomOperands random(7);
  const TestOperand x = random.tensor(TENSOR_FLOAT32, {2, 3});
  const auto refuses = [&](const std::vector<int32_t>& target, const std::string& text) {
    expectFailure(OperationType::RESHAPE, {x, intList(target)}, {outputLike(x)}, text);
  };
  refuses({2, 4}, "target shape [2,4] does not fit the 6 elements of the input [2,3]");
  refuses({4, -1}, "does not fit the 6 elements");
  refuses({7, -1}, "does not fit the 6 elements");
  refuses({-1, -1}, "more than one -1");
  refuses({-2, 3}, "dimension 0 of the target shape is -2");
  refuses({0, -1}, "dimension 0 of the target shape is 0");
  refuses({}, "the target shape is empty");
  // A product that wraps around to 6 in 64 bits, were it computed to the end.
  refuses({1 << 30, 1 << 30, 16, 6}, "does not fit");
  TestOperand output = TestOperand::output(TENSOR_QUANT8_ASYMM, 0.5f, 4);
  expectFailure(OperationType::RESHAPE,
                {TestOperand::of<uint8_t>(TENSOR_QUANT8_ASYMM, {1}, {1}, 0.5f, 3), intList({1})},
                {output},
                "output has scale 0.5 and zero point 4, expected those of the input, 0.5 and 3");
  expectFailure(OperationType::RESHAPE, {random.tensor(TENSOR_FLOAT32, {0, 2}), intList({2, -1})},
                {outputLike(x)}, "zero-sized");
  expectFailure(OperationType::RESHAPE,
                {random.tensor(TENSOR_FLOAT32, {1, 1, 1, 1, 2}), intList({2})}, {outputLike(x)},
                "rank 5");
}

TEST(Reshape, WaitsForTheTargetShape) {
  Tensor inputs[2];
  inputs[0].type = TENSOR_FLOAT32;
  inputs[0].dims = {2, 3};
  inputs[1].type = TENSOR_INT32;
  inputs[1].dims = {2};
  Tensor output;
  output.type = TENSOR_FLOAT32;
  OperationContext context(inputs, std::span(&output, 1), nullptr);
  EXPECT_EQ(inferShapes(*definitionOf(OperationType::RESHAPE), context).code(),
            ResultCode::INCOMPLETE);
}

}  // namespace
}  // namespace halyard::ops::testing
