// TestOperand: an operand with its bytes; runOperation: inference, then the reference kernel.
// Thread safety: none needed. Ownership: operands own their bytes.
#pragma once

#include <cstring>
#include <initializer_list>
#include <limits>
#include <memory>
#include <vector>

#include "ops/inline_services.h"
#include "ops/operation.h"

namespace halyard::ops::testing {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// An operand with its bytes. `T` is the storage type: float, int32_t, uint8_t, int8_t, bool,
// Float16.
struct TestOperand {
  Tensor tensor;
  std::vector<uint8_t> bytes;
  int source = -1;  // index of the value in a CaseSource, by its own count; -1: none

  template <typename T>
  static TestOperand of(OperandType type, Shape dims, const std::vector<T>& values, float scale = 0,
                        int32_t zeroPoint = 0) {
    TestOperand operand;
    operand.tensor.type = type;
    operand.tensor.dims = std::move(dims);
    operand.tensor.scale = scale;
    operand.tensor.zeroPoint = zeroPoint;
    operand.bytes.resize(values.size() * sizeof(T));
    for (size_t i = 0; i < values.size(); ++i) {
      const T value = values[i];
      std::memcpy(operand.bytes.data() + i * sizeof(T), &value, sizeof(T));
    }
    return operand;
  }
  static TestOperand int32(int32_t value) { return of<int32_t>(OperandType::INT32, {}, {value}); }
  static TestOperand float32(float value) { return of<float>(OperandType::FLOAT32, {}, {value}); }
  static TestOperand boolean(bool value) {
    return of<uint8_t>(OperandType::BOOL, {}, {static_cast<uint8_t>(value)});
  }
  static TestOperand omitted(OperandType type) {
    TestOperand operand;
    operand.tensor.type = type;
    operand.tensor.omitted = true;
    return operand;
  }
  // Returns an output to be computed; only type and quantisation matter.
  static TestOperand output(OperandType type, float scale = 0, int32_t zeroPoint = 0) {
    TestOperand operand;
    operand.tensor.type = type;
    operand.tensor.scale = scale;
    operand.tensor.zeroPoint = zeroPoint;
    return operand;
  }
  template <typename T>
  std::vector<T> values() const {
    std::vector<T> result(bytes.size() / sizeof(T));
    if (!result.empty()) std::memcpy(result.data(), bytes.data(), result.size() * sizeof(T));
    return result;
  }
};

using ops::InlineServices;

// Infers and computes `outputs` in place. Returns the first error of either step.
Status runOperation(OperationType type, std::vector<TestOperand>& inputs,
                    std::vector<TestOperand>& outputs);

inline Status runOperation(OperationType type, std::vector<TestOperand>& inputs,
                           std::vector<TestOperand>& outputs) {
  const OperationDefinition* definition = definitionOf(type);
  if (definition == nullptr) return badData("no definition of {}", operationTypeName(type));
  std::vector<Tensor> in;
  std::vector<Tensor> out;
  for (TestOperand& operand : inputs) {
    in.push_back(operand.tensor);
    // Reserves one byte, because an empty operand also has a (known) value and no null pointer.
    operand.bytes.reserve(1);
    if (!operand.tensor.omitted) in.back().data = operand.bytes.data();
  }
  for (TestOperand& operand : outputs) out.push_back(operand.tensor);
  InlineServices services;
  OperationContext context(in, out, &services);
  HALYARD_RETURN_IF_ERROR(inferShapes(*definition, context));
  bool empty = true;
  for (size_t i = 0; i < out.size(); ++i) {
    outputs[i].tensor.dims = out[i].dims;
    outputs[i].bytes.assign(out[i].elementCount() * elementSize(out[i].type), 0);
    out[i].data = outputs[i].bytes.data();
    empty = empty && out[i].elementCount() == 0;
  }
  return empty ? okStatus() : runReference(*definition, context);
}

}  // namespace halyard::ops::testing
