// The inputs, outputs and states of GraphBuilder's model.
#include <algorithm>

#include "import/tflite/graph_builder.h"

namespace halyard::import {

std::vector<ModelPort> GraphBuilder::ports(std::span<const int32_t> tensors) const {
  std::vector<ModelPort> result;
  for (const int32_t tensor : tensors) {
    result.push_back(
        port(displayName(file().tensorName(tensor)), binding(tensor).operand, formOf(tensor)));
  }
  return result;
}

ModelPort GraphBuilder::port(std::string name, uint32_t index, ElementForm form) const {
  const Operand& from = operand(index);
  return {std::move(name), from.type, from.dimensions, from.scale, from.zeroPoint, form};
}

Result<uint32_t> GraphBuilder::beginState(const FileTensor& tensor, Operand operand,
                                          std::pair<size_t, uint8_t> first) {
  const auto same = std::ranges::find(states_, tensor.index, &State::tensor);
  if (same != states_.end()) {
    return unsupported("{} is the state of another operator, too", tensor.text());
  }
  operand.lifetime = Lifetime::SUBGRAPH_INPUT;
  HALYARD_ASSIGN_OR_RETURN(const uint32_t added, addOperand(std::move(operand), tensor));
  HALYARD_RETURN_IF_ERROR(budget_.spend(first.first), "the state {}", tensor.text());
  states_.push_back({tensor.index, added, added, displayName(file().tensorName(tensor.index)),
                     std::vector<uint8_t>(first.first, first.second)});
  return added;
}

void GraphBuilder::endState(int32_t tensor, uint32_t index) {
  operand(index).lifetime = Lifetime::SUBGRAPH_OUTPUT;
  std::ranges::find(states_, tensor, &State::tensor)->after = index;
}

// The states follow the other inputs and outputs.
Status GraphBuilder::giveStates() {
  for (const auto& [name, variable] : variables_) {
    if (variable.state) states_[*variable.state].after = *variable.now;
  }
  for (State& state : states_) {
    if (state.tensor < 0) {
      HALYARD_ASSIGN_OR_RETURN(state.after, ownOutput(state.after), "variable '{}'", state.name);
    } else if (state.after == state.before) {
      return badData("tensor {} is a state that no operator writes", state.tensor);
    }
    model_.main.inputIndexes.push_back(state.before);
    appendOutput(state.after);
  }
  return okStatus();
}

Status GraphBuilder::giveOutputs(std::span<const int32_t> tensors) {
  for (const int32_t index : tensors) {
    if (!isBound(index)) {
      HALYARD_ASSIGN_OR_RETURN(const FileTensor tensor, file().tensor(index));
      if (!tensor.isConstant()) {
        return badData("tensor {} is an output of the model, but no operator writes it", index);
      }
      HALYARD_RETURN_IF_ERROR(read(tensor).takeStatus());
    }
    HALYARD_RETURN_IF_ERROR(giveOutput(index));
  }
  return okStatus();
}

// Integers of 16 bits are exact as floats.
Status GraphBuilder::addCopy(uint32_t from, uint32_t to) {
  const Shape dims = operand(from).dimensions;
  if (operand(from).type == OperandType::TENSOR_QUANT16_SYMM) {
    HALYARD_ASSIGN_OR_RETURN(const uint32_t real,
                             addTemporary(OperandType::TENSOR_FLOAT32, dims, 0, 0, ""));
    HALYARD_RETURN_IF_ERROR(addOperation(OperationType::DEQUANTIZE_16, {from}, {real}));
    return addOperation(OperationType::QUANTIZE_16, {real}, {to});
  }
  const std::vector<int32_t> sizes(dims.begin(), dims.end());
  HALYARD_ASSIGN_OR_RETURN(const uint32_t shape,
                           int32Tensor({static_cast<uint32_t>(sizes.size())}, sizes));
  return addOperation(OperationType::RESHAPE, {from, shape}, {to});
}

void GraphBuilder::appendOutput(uint32_t index) {
  model_.main.outputIndexes.push_back(index);
  if (index >= isOutput_.size()) isOutput_.resize(model_.main.operands.size());
  isOutput_[index] = true;
}

// A value that is already an output, an input or a constant becomes an output through a copy.
Result<uint32_t> GraphBuilder::ownOutput(uint32_t given) {
  const bool isTaken = given < isOutput_.size() && isOutput_[given];
  Operand& value = operand(given);
  if (value.lifetime == Lifetime::TEMPORARY_VARIABLE) value.lifetime = Lifetime::SUBGRAPH_OUTPUT;
  if (!isTaken && value.lifetime == Lifetime::SUBGRAPH_OUTPUT) return given;
  Operand copy = value;
  if (!knownElementCount(copy.dimensions)) {
    return unsupported("nothing computes it, and its shape {} is open", shapeText(copy.dimensions));
  }
  copy.lifetime = Lifetime::SUBGRAPH_OUTPUT;
  copy.location = {};
  HALYARD_ASSIGN_OR_RETURN(const uint32_t added, addOperand(std::move(copy), operandName(given)));
  HALYARD_RETURN_IF_ERROR(addCopy(given, added), "nothing computes it");
  return added;
}

Status GraphBuilder::giveOutput(int32_t tensor) {
  HALYARD_ASSIGN_OR_RETURN(const uint32_t given, ownOutput(binding(tensor).operand),
                           "tensor {}, an output of the model", tensor);
  graph_.bindings[static_cast<size_t>(tensor)].operand = given;
  appendOutput(given);
  return okStatus();
}

}  // namespace halyard::import
