// A small model for tests: its inputs are the weights, too, and its bias may be omitted.
// Thread safety: none needed. Ownership: models and values are the caller's.
#pragma once

#include <array>
#include <utility>
#include <vector>

#include "halyard/driver/constants.h"
#include "halyard/driver/hal_types.h"
#include "halyard/driver/model.h"

namespace halyard::vulkandriver::testing {

inline uint32_t add(Model& model, OperandType type, Shape dims, Lifetime lifetime) {
  Operand operand;
  operand.type = type;
  operand.dimensions = std::move(dims);
  operand.lifetime = lifetime;
  model.main.operands.push_back(operand);
  const auto index = static_cast<uint32_t>(model.main.operands.size() - 1);
  if (lifetime == Lifetime::SUBGRAPH_INPUT) model.main.inputIndexes.push_back(index);
  if (lifetime == Lifetime::SUBGRAPH_OUTPUT) model.main.outputIndexes.push_back(index);
  return index;
}
inline uint32_t addInput(Model& model, Shape dims) {
  return add(model, OperandType::TENSOR_FLOAT32, std::move(dims), Lifetime::SUBGRAPH_INPUT);
}
inline uint32_t addInteger(Model& model, int32_t value) {
  const uint32_t index = add(model, OperandType::INT32, {}, Lifetime::CONSTANT_COPY);
  model.main.operands[index].location = appendConstant(model, &value, sizeof value);
  return index;
}

// One filter with a memory of one value: the output is input * feature * time + bias.
inline Model svdfModel() {
  Model model;
  std::vector<uint32_t> inputs = {addInput(model, {1, 1}), addInput(model, {1, 1}),
                                  addInput(model, {1, 1}), addInput(model, {1}),
                                  addInput(model, {1, 1})};
  inputs.push_back(addInteger(model, 1));  // rank
  inputs.push_back(addInteger(model, 0));  // no activation
  const uint32_t state = add(model, OperandType::TENSOR_FLOAT32, {1, 1}, Lifetime::SUBGRAPH_OUTPUT);
  const uint32_t output =
      add(model, OperandType::TENSOR_FLOAT32, {1, 1}, Lifetime::SUBGRAPH_OUTPUT);
  model.main.operations.push_back({OperationType::SVDF, std::move(inputs), {state, output}});
  return model;
}

inline hal::RequestArgument argument(float& value) {
  hal::RequestArgument made;
  made.kind = hal::RequestArgument::Kind::POINTER;
  made.pointer = &value;
  made.length = sizeof value;
  return made;
}

// The arguments of svdfModel().
struct SvdfValues {
  std::array<float, 5> inputs = {2, 3, 5, 100, 0};
  std::array<float, 2> outputs = {-1, -1};

  hal::Request request() {
    hal::Request made;
    for (float& value : inputs) made.inputs.push_back(argument(value));
    for (float& value : outputs) made.outputs.push_back(argument(value));
    return made;
  }
  hal::Request without(const std::vector<size_t>& omitted) {
    hal::Request made = request();
    for (const size_t i : omitted) made.inputs[i] = {};
    return made;
  }
};

}  // namespace halyard::vulkandriver::testing
