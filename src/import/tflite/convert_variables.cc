// Converts the operators of variables of resources, which keep values between executions.
//
// VAR_HANDLE gives a variable's handle, READ_VARIABLE its value, and ASSIGN_VARIABLE a new value.
// The subgraph of CALL_ONCE assigns the first values. NNAPI's models keep no values, so that they
// become inputs and outputs of the model, or constants (StateUse).
#include "import/tflite/converters.h"

namespace halyard::import {
namespace {

using Op = tfl::BuiltinOperator;
using Opt = tfl::BuiltinOptions;

// Variables with equal containers and names are the same. Names are compared whole.
std::string nameOfHandle(const VerifiedFile& file, const FileOperator& op) {
  if (!op.options) return "";
  using Options = tfl::VarHandleOptions;
  const std::string container(file.rawOptionText(op.options, Options::VT_CONTAINER));
  const std::string name(file.rawOptionText(op.options, Options::VT_SHARED_NAME));
  return container.empty() ? name : container + "/" + name;
}

Status convertVarHandle(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(0, 0, 1));
  GraphBuilder& builder = node.builder();
  if (builder.options().states == StateUse::OF_TENSORS) {
    return unsupported("the interpreter keeps the values of variables");
  }
  // An assignment there would be lost.
  if (builder.isReferenced()) {
    return unsupported("a variable in a subgraph of an IF, a WHILE or a CASE");
  }
  return builder.nameHandle(node.outputTensor(0), nameOfHandle(builder.file(), node.op()));
}

Status convertReadVariable(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(1, 1, 1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t value, node.builder().readVariable(node.inputTensor(0)));
  return giveResult(node, 0, value);
}

Status convertAssignVariable(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(2, 2, 0));
  HALYARD_ASSIGN_OR_RETURN(const FileTensor tensor, node.inputInfo(1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t value, node.builder().read(tensor));
  if (node.builder().formOf(tensor.index) != ElementForm::SAME) {
    return unsupported("{} is {}", tensor.text(), tensorTypeName(tensor.type));
  }
  return node.builder().assignVariable(node.inputTensor(0), value);
}

constexpr Converter kVariableConverters[] = {
    {Op::VAR_HANDLE, Opt::VarHandleOptions, OptionsNeed::OPTIONAL, convertVarHandle},
    {Op::READ_VARIABLE, Opt::ReadVariableOptions, OptionsNeed::OPTIONAL, convertReadVariable},
    {Op::ASSIGN_VARIABLE, Opt::AssignVariableOptions, OptionsNeed::OPTIONAL, convertAssignVariable},
};

}  // namespace

Status takeFirstValues(GraphBuilder& builder, const VerifiedFile& subgraph) {
  std::map<int32_t, std::string> handles;
  for (size_t i = 0; i < subgraph.operatorCount(); ++i) {
    const FileOperator& op = subgraph.op(i);
    if (subgraph.builtin(i) == Op::VAR_HANDLE && op.outputs.size() == 1) {
      handles[op.outputs[0]] = nameOfHandle(subgraph, op);
    }
    if (subgraph.builtin(i) != Op::ASSIGN_VARIABLE) continue;
    if (op.inputs.size() != 2 || !handles.contains(op.inputs[0])) {
      return badData("operator ASSIGN_VARIABLE of node {} names no variable", i);
    }
    HALYARD_ASSIGN_OR_RETURN(const FileTensor value, subgraph.tensor(op.inputs[1]),
                             "operator ASSIGN_VARIABLE of node {}", i);
    if (!value.isConstant()) {
      return unsupported("the first value of the variable '{}' is computed", handles[op.inputs[0]]);
    }
    HALYARD_RETURN_IF_ERROR(builder.giveFirstValue(handles[op.inputs[0]], value),
                            "operator ASSIGN_VARIABLE of node {}", i);
  }
  return okStatus();
}

std::span<const Converter> variableConverters() { return kVariableConverters; }

}  // namespace halyard::import
