// The part of GraphBuilder that keeps the values of variables of resources.
#include "import/tflite/graph_builder.h"
#include "import/tflite/node.h"

namespace halyard::import {

Status GraphBuilder::nameHandle(int32_t tensor, std::string variable) {
  HALYARD_RETURN_IF_ERROR(budget_.spend(sizeof(Variable) + 2 * variable.size()));
  variables_.try_emplace(variable);
  if (!graph_.handles.try_emplace(tensor, std::move(variable)).second || isBound(tensor)) {
    return badData("tensor {} is a handle, and is written twice", tensor);
  }
  return okStatus();
}

Result<GraphBuilder::Variable*> GraphBuilder::variableOf(int32_t handle) {
  const auto name = graph_.handles.find(handle);
  if (name == graph_.handles.end()) {
    return unsupported("tensor {} is no handle of a variable in this subgraph", handle);
  }
  return &variables_.find(name->second)->second;
}

// All values of a variable have one type and one shape.
Status GraphBuilder::setVariableType(const std::string& name, Variable& variable, Operand type) {
  if (!knownElementCount(type.dimensions)) {
    return unsupported("the variable '{}' has the open shape {}", displayName(name),
                       shapeText(type.dimensions));
  }
  if (!variable.type) {
    type.lifetime = Lifetime::TEMPORARY_VARIABLE;
    type.location = {};
    variable.type = std::move(type);
    return okStatus();
  }
  const Operand& known = *variable.type;
  if (known.type == type.type && known.dimensions == type.dimensions &&
      haveSameQuantization(known, type)) {
    return okStatus();
  }
  return unsupported("the variable '{}' is {}, and gets a value that is {}", displayName(name),
                     operandText(known), operandText(type));
}

Status GraphBuilder::giveFirstValue(const std::string& name, const FileTensor& constant) {
  HALYARD_RETURN_IF_ERROR(budget_.spend(sizeof(Variable) + name.size()));
  if (import::formOf(constant.type) != ElementForm::SAME) {
    return unsupported("the variable '{}' is {}", displayName(name), tensorTypeName(constant.type));
  }
  HALYARD_ASSIGN_OR_RETURN(Operand type, describe(constant));
  type.dimensions = orScalar(std::move(type.dimensions), constant.type);
  Variable& variable = variables_[name];
  HALYARD_RETURN_IF_ERROR(setVariableType(name, variable, std::move(type)));
  variable.first = constant.data;
  return okStatus();
}

// Returns an input of the model, or a constant if the model keeps no states.
Result<uint32_t> GraphBuilder::firstValueOf(const std::string& name, Variable& variable) {
  if (!variable.first) {
    return unsupported("the variable '{}' is read before anything assigns it", displayName(name));
  }
  const Constant bytes = {nullptr, *variable.first};
  if (!keepsStates()) return addConstant(*variable.type, bytes, displayName(name));
  HALYARD_ASSIGN_OR_RETURN(const std::span<const uint8_t> first, contents(bytes),
                           "the variable '{}'", displayName(name));
  HALYARD_RETURN_IF_ERROR(budget_.spend(first.size()), "the variable '{}'", displayName(name));
  Operand input = *variable.type;
  input.lifetime = Lifetime::SUBGRAPH_INPUT;
  HALYARD_ASSIGN_OR_RETURN(const uint32_t before, addOperand(std::move(input), displayName(name)));
  variable.state = states_.size();
  states_.push_back({-1, before, before, displayName(name), {first.begin(), first.end()}});
  return before;
}

Result<uint32_t> GraphBuilder::readVariable(int32_t handle) {
  HALYARD_ASSIGN_OR_RETURN(Variable* const variable, variableOf(handle));
  if (!variable->now) {
    HALYARD_ASSIGN_OR_RETURN(variable->now, firstValueOf(graph_.handles[handle], *variable));
  }
  return *variable->now;
}

Status GraphBuilder::assignVariable(int32_t handle, uint32_t value) {
  HALYARD_ASSIGN_OR_RETURN(Variable* const variable, variableOf(handle));
  HALYARD_RETURN_IF_ERROR(setVariableType(graph_.handles[handle], *variable, operand(value)));
  variable->now = value;
  return okStatus();
}

}  // namespace halyard::import
