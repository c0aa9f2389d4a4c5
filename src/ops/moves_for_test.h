// Code shared by tests of operations that only move elements. It computes the bytes of a mapping of
// coordinates, for every type.
// Thread safety: none needed.
// Ownership: none.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "ops/naive_for_test.h"

namespace halyard::ops::testing {

inline constexpr int32_t kIntMin = std::numeric_limits<int32_t>::min();
inline constexpr int32_t kIntMax = std::numeric_limits<int32_t>::max();

inline const std::vector<OperandType> kFloatAndQuant8 = {
    OperandType::TENSOR_FLOAT32, OperandType::TENSOR_FLOAT16, OperandType::TENSOR_QUANT8_ASYMM,
    OperandType::TENSOR_QUANT8_ASYMM_SIGNED};
inline const std::vector<OperandType> kFloatInt32AndQuant8 = {
    OperandType::TENSOR_FLOAT32, OperandType::TENSOR_FLOAT16, OperandType::TENSOR_INT32,
    OperandType::TENSOR_QUANT8_ASYMM, OperandType::TENSOR_QUANT8_ASYMM_SIGNED};

using Coordinates = std::vector<size_t>;
using MaybeCoordinates = std::optional<Coordinates>;

// As RandomOperands::tensor, also for TENSOR_INT32.
inline TestOperand anyTensor(RandomOperands& random, OperandType type, const Shape& dims) {
  if (type != OperandType::TENSOR_INT32) return random.tensor(type, dims);
  std::vector<int32_t> values(elementsOf(dims));
  for (int32_t& value : values) value = random.between(kIntMin, kIntMax);
  return TestOperand::of<int32_t>(type, dims, values);
}

inline TestOperand intTensor(const Shape& dims, const std::vector<int32_t>& values) {
  return TestOperand::of<int32_t>(OperandType::TENSOR_INT32, dims, values);
}

// Returns a tensor of `shape`. Each element is the element of `source` at sourceOf(place), or
// `fill` if that is nullopt. sourceOf takes and returns Coordinates.
template <typename SourceOf>
TestOperand moved(const TestOperand& source, const Shape& shape, const SourceOf& sourceOf,
                  const std::vector<uint8_t>& fill = {}) {
  const size_t size = elementSize(source.tensor.type);
  TestOperand result = source;
  result.tensor.dims = shape;
  result.bytes.clear();
  for (size_t i = 0; i < elementsOf(shape); ++i) {
    const MaybeCoordinates at = sourceOf(coordinatesOf(i, shape));
    const uint8_t* element =
        at ? source.bytes.data() + indexOf(*at, source.tensor.dims) * size : fill.data();
    result.bytes.insert(result.bytes.end(), element, element + size);
  }
  return result;
}

// Expects the operation's only output to equal `expected` in every respect.
inline void expectResult(OperationType op, std::vector<TestOperand> inputs,
                         const TestOperand& expected, const std::string& what = "") {
  std::vector<TestOperand> outputs = {outputLike(expected)};
  const Status status = runOperation(op, inputs, outputs);
  ASSERT_TRUE(status.ok()) << status.toString() << " " << what;
  ASSERT_EQ(outputs[0].tensor.dims, expected.tensor.dims) << what;
  ASSERT_EQ(outputs[0].bytes, expected.bytes)
      << operandTypeName(expected.tensor.type) << " " << what;
}

// Runs inference only. Operands without bytes have unknown values.
inline Status inferenceOf(OperationType op, const std::vector<TestOperand>& inputs,
                          const std::vector<TestOperand>& outputs) {
  std::vector<Tensor> in;
  std::vector<Tensor> out;
  for (const TestOperand& operand : inputs) {
    in.push_back(operand.tensor);
    if (!operand.bytes.empty()) in.back().data = const_cast<uint8_t*>(operand.bytes.data());
  }
  for (const TestOperand& operand : outputs) out.push_back(operand.tensor);
  OperationContext context(in, out, nullptr);
  return inferShapes(*definitionOf(op), context);
}

inline TestOperand unknownValue(OperandType type, const Shape& dims = {}) {
  TestOperand operand;
  operand.tensor.type = type;
  operand.tensor.dims = dims;
  return operand;
}

// Expects the operation to refuse an output with another scale than the input. The unchanged output
// must be accepted.
inline void expectChecksOutputScale(OperationType op, const std::vector<TestOperand>& inputs,
                                    const TestOperand& source, size_t outputCount = 1) {
  std::vector<TestOperand> outputs(outputCount, outputLike(source));
  EXPECT_TRUE(inferenceOf(op, inputs, outputs).ok()) << operationTypeName(op);
  outputs.back().tensor.scale *= 2;
  expectFailure(op, inputs, outputs, "expected those of the input");
  outputs.back() = outputLike(source);
  outputs.back().tensor.zeroPoint ^= 1;
  expectFailure(op, inputs, outputs, "expected those of the input");
}

}  // namespace halyard::ops::testing
