// Code shared by tests of operations: random shapes, broadcasting, single results, expected errors.
// Thread safety: none needed.
// Ownership: none.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ops/random_for_test.h"

namespace halyard::ops::testing {

// Returns a shape of rank `low` to `high` with sizes 1 to `largest`.
inline Shape randomShape(RandomOperands& random, int low, int high, int largest) {
  Shape shape(static_cast<size_t>(random.between(low, high)));
  for (uint32_t& d : shape) d = static_cast<uint32_t>(random.between(1, largest));
  return shape;
}

// Returns the index in a broadcast input of the element for the result's element at `at`.
inline size_t sourceIndex(const std::vector<size_t>& at, const Shape& dims) {
  std::vector<size_t> own(at.end() - static_cast<ptrdiff_t>(dims.size()), at.end());
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == 1) own[d] = 0;
  }
  return indexOf(own, dims);
}

struct BroadcastShapes {
  Shape a;
  Shape b;
  Shape result;
};
// Each input may lack dimensions or have them broadcast, but not both inputs the same.
inline BroadcastShapes randomBroadcast(RandomOperands& random, int highestRank) {
  const Shape shape = randomShape(random, 1, highestRank, 6);
  Shape a = shape;
  Shape b = shape;
  for (size_t d = 0; d < shape.size(); ++d) {
    const int choice = random.between(0, 4);
    if (choice == 0) a[d] = 1;
    if (choice == 1) b[d] = 1;
  }
  Shape& shorter = random.coin() ? a : b;
  while (shorter.size() > 1 && shorter.front() == 1) shorter.erase(shorter.begin());
  return {a, b, shape};
}

// Returns the elements' real values, also of plain integers and truth values (0 or 1).
inline std::vector<double> numbersOf(const TestOperand& operand) {
  std::vector<double> numbers;
  if (operand.tensor.type == OperandType::TENSOR_INT32) {
    for (int32_t value : operand.values<int32_t>()) numbers.push_back(value);
  } else if (operand.tensor.type == OperandType::TENSOR_BOOL8) {
    for (uint8_t value : operand.values<uint8_t>()) numbers.push_back(value != 0 ? 1 : 0);
  } else {
    return realValues(operand);
  }
  return numbers;
}

// Applies f to all pairs of elements.
template <typename F>
std::vector<double> broadcastNumbers(const TestOperand& a, const TestOperand& b, const Shape& shape,
                                     F f) {
  const std::vector<double> numbersA = numbersOf(a);
  const std::vector<double> numbersB = numbersOf(b);
  std::vector<double> result;
  for (size_t i = 0; i < elementsOf(shape); ++i) {
    const std::vector<size_t> at = coordinatesOf(i, shape);
    result.push_back(
        f(numbersA[sourceIndex(at, a.tensor.dims)], numbersB[sourceIndex(at, b.tensor.dims)]));
  }
  return result;
}

// Returns a tensor with few different numbers, so that equal ones occur. Quantised types use
// multiples of 1/2 or 1/4, others integers.
inline TestOperand fewNumbers(RandomOperands& random, OperandType type, const Shape& dims) {
  const size_t count = elementsOf(dims);
  std::vector<float> numbers(count);
  for (float& number : numbers) number = static_cast<float>(random.between(-3, 3));
  switch (type) {
    case OperandType::TENSOR_FLOAT32:
      return TestOperand::of<float>(type, dims, numbers);
    case OperandType::TENSOR_FLOAT16: {
      std::vector<Float16> halves;
      for (float number : numbers) halves.push_back(toFloat16(number));
      return TestOperand::of<Float16>(type, dims, halves);
    }
    case OperandType::TENSOR_INT32:
      return TestOperand::of<int32_t>(type, dims, {numbers.begin(), numbers.end()});
    case OperandType::TENSOR_BOOL8: {
      std::vector<uint8_t> bytes(count);
      for (uint8_t& byte : bytes) byte = random.oneOf<uint8_t>({0, 0, 1, 2, 255});
      return TestOperand::of<uint8_t>(type, dims, bytes);
    }
    default: {
      const int zeroPoint = type == OperandType::TENSOR_QUANT8_ASYMM ? random.between(10, 245)
                                                                     : random.between(-100, 100);
      std::vector<uint8_t> bytes;
      for (float number : numbers) {
        bytes.push_back(static_cast<uint8_t>(static_cast<int>(number) + zeroPoint));
      }
      return TestOperand::of<uint8_t>(type, dims, bytes, random.oneOf({0.5f, 0.25f}), zeroPoint);
    }
  }
}

// Returns the output of an operation with a single one. Fails the test on an error.
inline TestOperand resultOf(OperationType type, std::vector<TestOperand> inputs,
                            TestOperand output) {
  std::vector<TestOperand> outputs = {std::move(output)};
  const Status status = runOperation(type, inputs, outputs);
  EXPECT_TRUE(status.ok()) << operationTypeName(type) << ": " << status.toString();
  return outputs[0];
}
// The same for one float32 tensor.
inline std::vector<float> floatsOf(OperationType type, const std::vector<float>& values) {
  return resultOf(type,
                  {TestOperand::of<float>(OperandType::TENSOR_FLOAT32,
                                          {static_cast<uint32_t>(values.size())}, values)},
                  TestOperand::output(OperandType::TENSOR_FLOAT32))
      .values<float>();
}

// Expects the first feature level for each type in the first column of the operation's rows.
inline void expectTypeLevels(OperationType type, const std::map<OperandType, int>& levels) {
  std::map<OperandType, int> actual;
  for (const TypeRow& row : definitionOf(type)->signature.rows) {
    actual.emplace(row.types[0], static_cast<int>(row.since));
  }
  EXPECT_EQ(actual, levels) << operationTypeName(type);
}

// Expects the operation to fail with OP_FAILED and a text that contains `text`.
inline void expectFailure(OperationType type, std::vector<TestOperand> inputs,
                          std::vector<TestOperand> outputs, const std::string& text) {
  const Status status = runOperation(type, inputs, outputs);
  EXPECT_EQ(status.code(), ResultCode::OP_FAILED) << status.toString();
  EXPECT_THAT(status.message(), ::testing::HasSubstr(text));
}

// Returns the inferred shapes. Fails the test on an error.
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
