// The inputs, outputs and states of GraphBuilder's model.
#include <algorithm>

#include "import/tflite/graph_builder.h"

namespace halyard::import {

std::vector<ModelPort> GraphBuilder::ports(std::span<const int32_t> tensors) const {
  std::vector<ModelPort> result;
  for (const int32_t tensor : tensors) {
    result.push_back(port(tensor, binding(tensor).operand, formOf(tensor)));
  }
  return result;
}

ModelPort GraphBuilder::port(int32_t tensor, uint32_t index, ElementForm form) const {
  const Operand& from = operand(index);
  return {displayName(file().tensorName(tensor)),
          from.type,
          from.dimensions,
          from.scale,
          from.zeroPoint,
          form};
}

Result<uint32_t> GraphBuilder::beginState(const FileTensor& tensor, Operand operand) {
  const auto same = std::ranges::find(states_, tensor.index, &State::tensor);
  if (same != states_.end()) {
    return unsupported("{} is the state of another operator, too", tensor.text());
  }
  operand.lifetime = Lifetime::SUBGRAPH_INPUT;
  HALYARD_ASSIGN_OR_RETURN(const uint32_t added, addOperand(std::move(operand), tensor));
  states_.push_back({tensor.index, added, added});
  return added;
}

void GraphBuilder::endState(int32_t tensor, uint32_t index) {
  operand(index).lifetime = Lifetime::SUBGRAPH_OUTPUT;
  std::ranges::find(states_, tensor, &State::tensor)->after = index;
}

// The states follow the other inputs and outputs.
Status GraphBuilder::giveStates() {
  for (const State& state : states_) {
    if (state.after == state.before) {
      return badData("tensor {} is a state that no operator writes", state.tensor);
    }
    model_.main.inputIndexes.push_back(state.before);
    model_.main.outputIndexes.push_back(state.after);
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

// A tensor that is already an output, an input or a constant becomes an output through a copy.
Status GraphBuilder::giveOutput(int32_t tensor) {
  uint32_t given = binding(tensor).operand;
  std::vector<uint32_t>& outputs = model_.main.outputIndexes;
  const bool isTaken = std::ranges::find(outputs, given) != outputs.end();
  if (isTaken || operand(given).lifetime != Lifetime::SUBGRAPH_OUTPUT) {
    Operand copy = operand(given);
    if (!knownElementCount(copy.dimensions)) {
      return unsupported(
          "tensor {} is an output of the model that nothing computes, and its shape "
          "{} is open",
          tensor, shapeText(copy.dimensions));
    }
    copy.lifetime = Lifetime::SUBGRAPH_OUTPUT;
    copy.location = {};
    HALYARD_ASSIGN_OR_RETURN(const uint32_t added, addOperand(std::move(copy), operandName(given)));
    HALYARD_RETURN_IF_ERROR(addCopy(given, added),
                            "tensor {}, an output of the model that nothing computes", tensor);
    given = added;
    graph_.bindings[static_cast<size_t>(tensor)].operand = added;
  }
  outputs.push_back(given);
  return okStatus();
}

}  // namespace halyard::import
