// Tests that kernels give the same results when their loops run in parts, in any order, as in one
// piece.
#include <gtest/gtest.h>

#include <algorithm>

#include "ops/naive_for_test.h"
#include "ops/splitting_services_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;

void expectSame(OperationType op, std::vector<TestOperand> inputs,
                std::vector<TestOperand> outputs) {
  ASSERT_TRUE(runOperation(op, inputs, outputs).ok()) << operationTypeName(op);
  std::vector<Tensor> in;
  std::vector<Tensor> out;
  std::vector<std::vector<uint8_t>> results;
  for (TestOperand& operand : inputs) {
    in.push_back(operand.tensor);
    in.back().data = operand.bytes.data();
  }
  for (const TestOperand& operand : outputs) {
    results.emplace_back(operand.bytes.size());
    out.push_back(operand.tensor);
    out.back().data = results.back().data();
  }
  SplittingServices services;
  OperationContext context(in, out, &services);
  ASSERT_TRUE(runReference(*definitionOf(op), context).ok()) << operationTypeName(op);
  EXPECT_GT(services.ranges, 1u) << operationTypeName(op) << " did not split its work";
  for (size_t i = 0; i < outputs.size(); ++i) {
    EXPECT_TRUE(results[i] == outputs[i].bytes) << operationTypeName(op) << " output " << i;
  }
}

TEST(SplitWork, Elementwise) {
  RandomOperands random(111);
  const Shape shape = {3, 50, 41, 7};
  for (OperandType type : {TENSOR_FLOAT32, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED}) {
    const TestOperand x = random.tensor(type, shape);
    const TestOperand none = TestOperand::int32(0);
    for (const Shape& other : {shape, Shape{7}, Shape{3, 1, 41, 1}, Shape{1}}) {
      expectSame(OperationType::ADD, {x, random.tensor(type, other), none},
                 {random.output(type, 2)});
      expectSame(OperationType::MUL, {random.tensor(type, other), x, none},
                 {random.output(type, 2)});
    }
    expectSame(OperationType::RELU6, {x}, {outputLike(x)});
    TestOperand unit = TestOperand::output(type);
    if (isQuant8Asymm(type)) {
      unit = TestOperand::output(type, 1.0f / 256, type == TENSOR_QUANT8_ASYMM ? 0 : -128);
    }
    expectSame(OperationType::LOGISTIC, {x}, {unit});
    for (int axis = 0; axis < 4; ++axis) {
      expectSame(OperationType::SOFTMAX, {x, TestOperand::float32(1), TestOperand::int32(axis)},
                 {unit});
    }
  }
  expectSame(OperationType::QUANTIZE, {random.tensor(TENSOR_FLOAT32, shape)},
             {random.output(TENSOR_QUANT8_ASYMM, 1)});
  expectSame(OperationType::DEQUANTIZE, {random.tensor(TENSOR_QUANT8_ASYMM, shape)},
             {TestOperand::output(TENSOR_FLOAT32)});
  expectSame(OperationType::DEQUANTIZE, {random.perChannelFilter({50, 9, 100}, 1)},
             {TestOperand::output(TENSOR_FLOAT32)});
}

TEST(SplitWork, ComparingAndSelecting) {
  RandomOperands random(115);
  const Shape shape = {5, 50, 41, 7};
  const TestOperand condition = fewNumbers(random, TENSOR_BOOL8, shape);
  for (OperandType type : {TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM}) {
    const TestOperand x = random.tensor(type, shape);
    const TestOperand y = random.tensor(type, shape);
    expectSame(OperationType::SELECT, {condition, x, y}, {random.output(type, 2)});
    expectSame(OperationType::LESS, {x, y}, {TestOperand::output(TENSOR_BOOL8)});
    expectSame(OperationType::MAXIMUM, {x, y}, {random.output(type, 2)});
    expectSame(OperationType::PRELU, {x, y}, {random.output(type, 2)});
  }
  expectSame(OperationType::LOGICAL_NOT, {condition}, {TestOperand::output(TENSOR_BOOL8)});
  expectSame(OperationType::CAST, {random.tensor(TENSOR_FLOAT32, shape)},
             {TestOperand::output(TENSOR_INT32)});
  expectSame(OperationType::FILL, {intList({123, 456}), TestOperand::float32(2)},
             {TestOperand::output(TENSOR_FLOAT32)});
}

TEST(SplitWork, Rearranging) {
  RandomOperands random(112);
  for (OperandType type : {TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM}) {
    const TestOperand x = random.tensor(type, {40, 60, 40, 3});
    std::vector<int32_t> order = {0, 1, 2, 3};
    while (std::next_permutation(order.begin(), order.end())) {
      expectSame(OperationType::TRANSPOSE, {x, intList(order)}, {outputLike(x)});
    }
  }
}

TEST(SplitWork, Reducing) {
  RandomOperands random(113);
  for (OperandType type : {TENSOR_FLOAT32, TENSOR_QUANT8_ASYMM}) {
    const TestOperand x = random.tensor(type, {40, 60, 40, 3});
    for (const std::vector<int32_t>& axes : {std::vector<int32_t>{1, 2}, {3}, {1}, {1, 3}}) {
      expectSame(OperationType::MEAN, {x, intList(axes), TestOperand::int32(0)}, {outputLike(x)});
      expectSame(OperationType::REDUCE_MAX, {x, intList(axes), TestOperand::boolean(true)},
                 {outputLike(x)});
    }
  }
}

TEST(SplitWork, Lines) {
  RandomOperands random(116);
  const TestOperand one = TestOperand::float32(1);
  const TestOperand x = random.tensor(TENSOR_FLOAT32, {20, 30, 40, 3});
  const TestOperand real = outputLike(x);
  const TestOperand index = TestOperand::output(TENSOR_INT32);
  for (int value = 0; value < 4; ++value) {
    const TestOperand axis = TestOperand::int32(value);
    expectSame(OperationType::ARGMIN, {x, axis}, {index});
    expectSame(OperationType::L2_NORMALIZATION, {x, axis}, {real});
    expectSame(OperationType::LOG_SOFTMAX, {x, one, axis}, {real});
    expectSame(OperationType::LOCAL_RESPONSE_NORMALIZATION,
               {x, TestOperand::int32(2), one, one, one, axis}, {real});
  }
  for (bool nchw : {false, true}) {
    expectSame(OperationType::INSTANCE_NORMALIZATION,
               {x, one, one, one, TestOperand::boolean(nchw)}, {real});
  }
  expectSame(OperationType::TOPK_V2, {x, TestOperand::int32(2)}, {real, index});
  expectSame(OperationType::RANDOM_MULTINOMIAL,
             {random.tensor(TENSOR_FLOAT32, {2, 9}), TestOperand::int32(5000), intList({3, 4})},
             {index});
}

TEST(SplitWork, Detections) {
  RandomOperands random(114);
  const auto real = [](float value) { return TestOperand::float32(value); };
  expectSame(
      OperationType::DETECTION_POSTPROCESSING,
      {random.tensor(TENSOR_FLOAT32, {2, 100, 9}), random.tensor(TENSOR_FLOAT32, {2, 100, 4}),
       random.tensor(TENSOR_FLOAT32, {100, 4}), real(10), real(10), real(5), real(5),
       TestOperand::boolean(true), TestOperand::int32(40), TestOperand::int32(1),
       TestOperand::int32(20), real(0.1f), real(0.5f), TestOperand::boolean(false)},
      {TestOperand::output(TENSOR_FLOAT32), TestOperand::output(TENSOR_FLOAT32),
       TestOperand::output(TENSOR_INT32), TestOperand::output(TENSOR_INT32)});
}

}  // namespace
}  // namespace halyard::ops::testing
