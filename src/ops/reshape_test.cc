// Tests of RESHAPE, SQUEEZE and EXPAND_DIMS: shapes, the inferred dimension, the bytes of every
// type.
#include <gtest/gtest.h>

#include "ops/moves_for_test.h"

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
  // The complete product would wrap around to 6 in 64 bits.
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

TEST(Squeeze, KeepsBytesOfEveryType) {
  RandomOperands random(8);
  struct Case {
    Shape shape;
    std::vector<int32_t> axes;
    Shape expected;
  };
  for (OperandType type : kFloatAndQuant8) {
    const auto gives = [&](const Shape& shape, const TestOperand& axes, const Shape& expected) {
      const TestOperand x = random.tensor(type, shape);
      TestOperand result = x;
      result.tensor.dims = expected;
      expectResult(OperationType::SQUEEZE, {x, axes}, result);
    };
    for (const Case& c :
         {Case{{1, 2, 1, 3}, {0}, {2, 1, 3}}, Case{{1, 2, 1, 3}, {-2}, {1, 2, 3}},
          Case{{1, 2, 1, 3}, {2, 0, -4, 2}, {2, 3}}, Case{{1, 2, 1, 3}, {}, {1, 2, 1, 3}},
          Case{{1, 1}, {0, 1}, {1}}, Case{{1}, {-1}, {1}}}) {
      gives(c.shape, intList(c.axes), c.expected);
    }
    gives({1, 2, 1, 3}, TestOperand::omitted(TENSOR_INT32), {2, 3});
    gives({2, 3}, TestOperand::omitted(TENSOR_INT32), {2, 3});
    gives({1, 1, 1}, TestOperand::omitted(TENSOR_INT32), {1});
    // The dimensions of an omitted operand do not count.
    TestOperand omitted = TestOperand::omitted(TENSOR_INT32);
    omitted.tensor.dims = {0, 3};
    gives({2, 1}, omitted, {2});
  }
}

TEST(Squeeze, Refuses) {
  RandomOperands random(9);
  const TestOperand x = random.tensor(TENSOR_QUANT8_ASYMM, {1, 2});
  const auto refuses = [&](const TestOperand& axes, const std::string& text) {
    expectFailure(OperationType::SQUEEZE, {x, axes}, {outputLike(x)}, text);
  };
  refuses(intList({0, 1}),
          "axes, element 1: dimension 1 of the input [1,2] is to go, but is not 1");
  refuses(intList({2}), "axes, element 0: axis is 2, expected -2 to 1");
  refuses(intList({kIntMin}), "axis is -2147483648");
  refuses(intTensor({1, 1}, {0}), "axes has rank 2 [1,1], expected rank 1");
  const TestOperand deep = random.tensor(TENSOR_FLOAT32, {1, 1, 1, 1, 2});
  expectFailure(OperationType::SQUEEZE, {deep, intList({0})}, {outputLike(deep)}, "rank 5");
  expectChecksOutputScale(OperationType::SQUEEZE, {x, intList({0})}, x);
  EXPECT_EQ(
      inferenceOf(OperationType::SQUEEZE, {x, unknownValue(TENSOR_INT32, {1})}, {outputLike(x)})
          .code(),
      ResultCode::INCOMPLETE);
}

TEST(ExpandDims, KeepsBytesOfEveryType) {
  RandomOperands random(10);
  for (OperandType type : kFloatInt32AndQuant8) {
    const auto gives = [&](const Shape& shape, int axis, const Shape& expected) {
      const TestOperand x = anyTensor(random, type, shape);
      TestOperand result = x;
      result.tensor.dims = expected;
      expectResult(OperationType::EXPAND_DIMS, {x, TestOperand::int32(axis)}, result);
    };
    gives({2, 3}, 0, {1, 2, 3});
    gives({2, 3}, 1, {2, 1, 3});
    gives({2, 3}, 2, {2, 3, 1});
    gives({2, 3}, -1, {2, 3, 1});
    gives({2, 3}, -3, {1, 2, 3});
    gives({2, 1, 3, 1, 2, 1}, 3, {2, 1, 3, 1, 1, 2, 1});
  }
}

TEST(ExpandDims, Refuses) {
  RandomOperands random(11);
  const TestOperand x = random.tensor(TENSOR_QUANT8_ASYMM, {1, 2});
  for (int axis : {3, -4, kIntMin, kIntMax}) {
    expectFailure(OperationType::EXPAND_DIMS, {x, TestOperand::int32(axis)}, {outputLike(x)},
                  fmt::format("output: axis is {}, expected -3 to 2", axis));
  }
  expectFailure(OperationType::EXPAND_DIMS,
                {random.tensor(TENSOR_FLOAT32, {0}), TestOperand::int32(0)}, {outputLike(x)},
                "zero-sized");
  expectChecksOutputScale(OperationType::EXPAND_DIMS, {x, TestOperand::int32(0)}, x);
  EXPECT_EQ(
      inferenceOf(OperationType::EXPAND_DIMS, {x, unknownValue(INT32)}, {outputLike(x)}).code(),
      ResultCode::INCOMPLETE);
}

}  // namespace
}  // namespace halyard::ops::testing
