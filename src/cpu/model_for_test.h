// Builds small models for tests.
// Thread safety: none needed.
// Ownership: owns the model being built.
#pragma once

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "halyard/driver/model.h"

namespace halyard::cpu::testing {

class TestModel {
 public:
  uint32_t input(Shape dims, OperandType type = OperandType::TENSOR_FLOAT32) {
    const uint32_t index = operand(type, std::move(dims), Lifetime::SUBGRAPH_INPUT);
    model_.main.inputIndexes.push_back(index);
    return index;
  }
  uint32_t output(Shape dims, OperandType type = OperandType::TENSOR_FLOAT32) {
    const uint32_t index = operand(type, std::move(dims), Lifetime::SUBGRAPH_OUTPUT);
    model_.main.outputIndexes.push_back(index);
    return index;
  }
  uint32_t temporary(Shape dims, OperandType type = OperandType::TENSOR_FLOAT32) {
    return operand(type, std::move(dims), Lifetime::TEMPORARY_VARIABLE);
  }
  uint32_t omitted(OperandType type, Shape dims = {}) {
    return operand(type, std::move(dims), Lifetime::NO_VALUE);
  }
  template <typename T>
  uint32_t constant(OperandType type, Shape dims, const std::vector<T>& values) {
    const uint32_t index = operand(type, std::move(dims), Lifetime::CONSTANT_COPY);
    model_.main.operands[index].location =
        appendConstant(model_, values.data(), values.size() * sizeof(T));
    return index;
  }
  uint32_t int32(int32_t value) { return constant<int32_t>(OperandType::INT32, {}, {value}); }
  // A constant at `offset` of a pool.
  uint32_t poolConstant(OperandType type, Shape dims, DataLocation location) {
    const uint32_t index = operand(type, std::move(dims), Lifetime::CONSTANT_REFERENCE);
    model_.main.operands[index].location = location;
    return index;
  }
  // Adds a reference to another model, which becomes a subgraph of this one with all its own
  // subgraphs.
  uint32_t reference(const TestModel& other) {
    while (model_.operandValues.size() % 4 != 0) model_.operandValues.push_back(0);
    const auto valueShift = static_cast<uint32_t>(model_.operandValues.size());
    const auto first = static_cast<uint32_t>(model_.referenced.size());
    const Model& source = other.model_;
    model_.operandValues.insert(model_.operandValues.end(), source.operandValues.begin(),
                                source.operandValues.end());
    model_.referenced.push_back(source.main);
    model_.referenced.insert(model_.referenced.end(), source.referenced.begin(),
                             source.referenced.end());
    for (size_t i = first; i < model_.referenced.size(); ++i) {
      for (Operand& operand : model_.referenced[i].operands) {
        if (operand.lifetime == Lifetime::CONSTANT_COPY) operand.location.offset += valueShift;
        if (operand.lifetime == Lifetime::SUBGRAPH) operand.location.offset += first + 1;
      }
    }
    return referenceTo(first);
  }
  uint32_t referenceTo(uint32_t subgraph) {
    const uint32_t index = operand(OperandType::MODEL, {}, Lifetime::SUBGRAPH);
    model_.main.operands[index].location.offset = subgraph;
    return index;
  }
  TestModel& operation(OperationType type, std::vector<uint32_t> inputs,
                       std::vector<uint32_t> outputs) {
    model_.main.operations.push_back({type, std::move(inputs), std::move(outputs)});
    return *this;
  }
  // out = a + b.
  TestModel& add(uint32_t a, uint32_t b, uint32_t out) {
    return operation(OperationType::ADD, {a, b, int32(0)}, {out});
  }
  Model& model() { return model_; }
  std::shared_ptr<const Model> share() const { return std::make_shared<const Model>(model_); }

 private:
  uint32_t operand(OperandType type, Shape dims, Lifetime lifetime) {
    Operand result;
    result.type = type;
    result.dimensions = std::move(dims);
    result.lifetime = lifetime;
    model_.main.operands.push_back(std::move(result));
    return static_cast<uint32_t>(model_.main.operands.size() - 1);
  }
  Model model_;
};

}  // namespace halyard::cpu::testing
