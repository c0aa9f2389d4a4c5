// What tests of operations share: coordinates of elements, random shapes, expected errors.
// Thread safety: none needed.
// Ownership: none.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ops/random_for_test.h"
#include "ops/run_for_test.h"

namespace halyard::ops::testing {

// Coordinates of the element at `index` in row-major order, and back.
inline std::vector<size_t> coordinatesOf(size_t index, const Shape& dims) {
  std::vector<size_t> result(dims.size());
  for (size_t d = dims.size(); d-- > 0;) {
    result[d] = index % dims[d];
    index /= dims[d];
  }
  return result;
}
inline size_t indexOf(const std::vector<size_t>& coordinates, const Shape& dims) {
  size_t index = 0;
  for (size_t d = 0; d < dims.size(); ++d) index = index * dims[d] + coordinates[d];
  return index;
}

// Of rank `low` to `high`, sizes 1 to `largest`.
inline Shape randomShape(RandomOperands& random, int low, int high, int largest) {
  Shape shape(static_cast<size_t>(random.between(low, high)));
  for (uint32_t& d : shape) d = static_cast<uint32_t>(random.between(1, largest));
  return shape;
}

inline TestOperand intList(const std::vector<int32_t>& values) {
  return TestOperand::of<int32_t>(OperandType::TENSOR_INT32, {static_cast<uint32_t>(values.size())},
                                  values);
}
inline TestOperand float16(float value) {
  return TestOperand::of<Float16>(OperandType::FLOAT16, {}, {toFloat16(value)});
}
// A scalar of the precision that goes with tensors of `type`.
inline TestOperand realScalar(OperandType type, float value) {
  return type == OperandType::TENSOR_FLOAT16 ? float16(value) : TestOperand::float32(value);
}
// The output of an operation that hands on its input's elements.
inline TestOperand outputLike(const TestOperand& input) {
  return TestOperand::output(input.tensor.type, input.tensor.scale, input.tensor.zeroPoint);
}

// The operation fails with OP_FAILED and a text that holds `text`.
inline void expectFailure(OperationType type, std::vector<TestOperand> inputs,
                          std::vector<TestOperand> outputs, const std::string& text) {
  const Status status = runOperation(type, inputs, outputs);
  EXPECT_EQ(status.code(), ResultCode::OP_FAILED) << status.toString();
  EXPECT_THAT(status.message(), ::testing::HasSubstr(text));
}

// The shapes that inference gives; fails the test on an error.
inline std::vector<Shape> inferredShapes(OperationType type, const std::vector<TestOperand>& inputs,
                                         const std::vector<TestOperand>& outputs) {
  std::vector<Tensor> in;
  std::vector<Tensor> out;
  for (const TestOperand& operand : inputs) {
    in.push_back(operand.tensor);
    if (!operand.tensor.omitted) in.back().data = const_cast<uint8_t*>(operand.bytes.data());
  }
  for (const TestOperand& operand : outputs) out.push_back(operand.tensor);
  OperationContext context(in, out, nullptr);
  const Status status = inferShapes(*definitionOf(type), context);
  EXPECT_TRUE(status.ok()) << status.toString();
  std::vector<Shape> shapes;
  for (const Tensor& tensor : out) shapes.push_back(tensor.dims);
  return shapes;
}

}  // namespace halyard::ops::testing
