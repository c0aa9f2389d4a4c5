// Converts operators that call other subgraphs of the file. The subgraphs of IF and WHILE become
// models that the operations refer to. That of a composite becomes a part of the caller.
#include <algorithm>

#include "import/tflite/converters.h"

namespace halyard::import {
namespace {

using Argument = GraphBuilder::Argument;
using Callee = std::unique_ptr<VerifiedFile>;

bool isSameValue(const Operand& a, const Operand& b) {
  return a.type == b.type && haveSameQuantization(a, b);
}

// Returns the subgraph, which must take and give this number of values.
Result<Callee> calleeOf(const Node& node, int32_t index, size_t inputs, size_t outputs) {
  HALYARD_ASSIGN_OR_RETURN(Callee callee, node.builder().file().subgraph(index));
  const size_t takes = callee->inputs().size();
  const size_t gives = callee->outputs().size();
  if (takes == inputs && gives == outputs) return callee;
  return badData("{} has {} inputs and {} outputs, expected {} and {}", callee->text(), takes,
                 gives, inputs, outputs);
}

// Returns whether the caller's tensor is a constant that can take the place of the input.
bool isConstantFor(const FileTensor& passed, const FileTensor& input) {
  const auto points = [](const FileTensor& tensor) {
    std::vector<int64_t> values;
    for (size_t i = 0; i < tensor.zeroPoints.size(); ++i) values.push_back(tensor.zeroPoints[i]);
    return values;
  };
  return passed.isConstant() && passed.type == input.type && passed.dims == input.dims &&
         std::ranges::equal(passed.scales, input.scales) && points(passed) == points(input) &&
         passed.quantizedDimension == input.quantizedDimension;
}

Result<FileTensor> inputOf(const VerifiedFile& callee, size_t i) {
  HALYARD_ASSIGN_OR_RETURN(FileTensor input, callee.tensor(callee.inputs()[i]), "input {} of {}", i,
                           callee.text());
  if (!input.isConstant()) return input;
  return badData("input {} of {}: {} is a constant", i, callee.text(), input.text());
}

// Checks whether a value of the caller fits a tensor of the other side.
Status checkFits(const GraphBuilder& builder, const FileTensor& tensor, const Operand& value) {
  HALYARD_ASSIGN_OR_RETURN(const Operand expected, builder.describe(tensor));
  if (!isSameValue(expected, value)) {
    return badData("{} is {}, and its value is {}", tensor.text(), operandText(expected),
                   operandText(value));
  }
  const Shape& dims = expected.dimensions;
  if (dims.empty()) return okStatus();
  bool fits = dims.size() == value.dimensions.size();
  for (size_t d = 0; fits && d < dims.size(); ++d) {
    fits = dims[d] == value.dimensions[d] || value.dimensions[d] == 0 || tensor.isOpen(d);
  }
  if (fits) return okStatus();
  return badData("{} has the shape {}, and its value has {}", tensor.text(), shapeText(dims),
                 shapeText(value.dimensions));
}

// Checks whether an argument of the node fits the input of a subgraph.
Status checkArgument(const GraphBuilder& builder, const FileTensor& passed, const Operand& value,
                     const FileTensor& input) {
  if (passed.type != input.type) {
    return badData("{} is {}, and {}, which is passed, is {}", input.text(),
                   tensorTypeName(input.type), passed.text(), tensorTypeName(passed.type));
  }
  return checkFits(builder, input, value);
}

}  // namespace

Status giveResult(Node& node, size_t i, uint32_t operand) {
  GraphBuilder& builder = node.builder();
  HALYARD_ASSIGN_OR_RETURN(const FileTensor tensor, node.outputInfo(i));
  if (tensor.isConstant() || tensor.isVariable) {
    return badData("{} is written, but is a constant or a variable", tensor.text());
  }
  HALYARD_RETURN_IF_ERROR(checkFits(builder, tensor, builder.operand(operand)), "output {}", i);
  HALYARD_RETURN_IF_ERROR(builder.bind(tensor, operand), "output {}", i);
  Operand& given = builder.operand(operand);
  if (builder.isModelOutput(tensor.index) && given.lifetime == Lifetime::TEMPORARY_VARIABLE) {
    given.lifetime = Lifetime::SUBGRAPH_OUTPUT;
  }
  return okStatus();
}

namespace {

// Converts the operators of the current subgraph, whose inputs are `values`. Returns the operands
// of its outputs.
Result<OperandIndexes> convertInlined(GraphBuilder& builder,
                                      std::span<const std::pair<FileTensor, uint32_t>> values) {
  for (const auto& [input, operand] : values) {
    HALYARD_RETURN_IF_ERROR(builder.bind(input, operand));
  }
  HALYARD_RETURN_IF_ERROR(convertGraph(builder));
  OperandIndexes results;
  for (const int32_t output : builder.file().outputs()) {
    HALYARD_ASSIGN_OR_RETURN(const uint32_t result, builder.read(output));
    results.push_back(result);
  }
  HALYARD_RETURN_IF_ERROR(builder.file().check());
  return results;
}

// Converts the subgraph's operators as if they were in the place of the node.
Status inlineCall(Node& node, int32_t index) {
  GraphBuilder& builder = node.builder();
  HALYARD_ASSIGN_OR_RETURN(const Callee callee,
                           calleeOf(node, index, node.inputCount(), node.outputCount()));
  std::vector<std::pair<FileTensor, uint32_t>> values;
  for (size_t i = 0; i < node.inputCount(); ++i) {
    HALYARD_ASSIGN_OR_RETURN(const FileTensor passed, node.inputInfo(i));
    HALYARD_ASSIGN_OR_RETURN(const FileTensor input, inputOf(*callee, i));
    if (isConstantFor(passed, input)) {
      callee->giveConstant(input.index, passed.data);
      continue;
    }
    HALYARD_ASSIGN_OR_RETURN(const uint32_t operand, builder.read(passed), "input {}", i);
    HALYARD_RETURN_IF_ERROR(checkArgument(builder, passed, builder.operand(operand), input),
                            "input {} of {}", i, callee->text());
    values.emplace_back(input, operand);
  }
  HALYARD_RETURN_IF_ERROR(builder.beginCall(*callee));
  builder.beginInlined(*callee);
  Result<OperandIndexes> results = convertInlined(builder, values);
  builder.endInlined();
  builder.endCall();
  if (!results.ok()) return results.takeStatus().annotate(callee->text());
  for (size_t i = 0; i < results->size(); ++i) {
    HALYARD_RETURN_IF_ERROR(giveResult(node, i, (*results)[i]));
  }
  return okStatus();
}

// The subgraphs that control flow chooses from, and the values that the node passes to all of them.
struct Calls {
  std::vector<Callee> callees;
  std::vector<std::vector<Argument>> arguments;  // by callee
  OperandIndexes operands;                       // of the caller, as many as arguments

  void add(Callee callee) {
    callees.push_back(std::move(callee));
    arguments.emplace_back();
  }
  // Passes a value that no subgraph reads.
  void passUnread(const GraphBuilder& builder, uint32_t operand) {
    operands.push_back(operand);
    for (std::vector<Argument>& list : arguments) list.push_back({-1, builder.operand(operand)});
  }
  // Passes input i of the node as input k. A constant becomes one of the subgraphs, if allowed.
  Status pass(Node& node, size_t i, size_t k, bool mayBeConstant);
};

Status Calls::pass(Node& node, size_t i, size_t k, bool mayBeConstant) {
  GraphBuilder& builder = node.builder();
  HALYARD_ASSIGN_OR_RETURN(const FileTensor passed, node.inputInfo(i));
  std::vector<FileTensor> inputs;
  for (const Callee& callee : callees) {
    HALYARD_ASSIGN_OR_RETURN(inputs.emplace_back(), inputOf(*callee, k));
  }
  const auto takesConstant = [&](const FileTensor& input) { return isConstantFor(passed, input); };
  if (mayBeConstant && std::ranges::all_of(inputs, takesConstant)) {
    for (size_t c = 0; c < callees.size(); ++c) {
      callees[c]->giveConstant(inputs[c].index, passed.data);
    }
    return okStatus();
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t operand, builder.read(passed), "input {}", i);
  const Operand& value = builder.operand(operand);
  if (!knownElementCount(value.dimensions)) {
    return unsupported("{} has the shape {}, which only an execution knows", passed.text(),
                       shapeText(value.dimensions));
  }
  operands.push_back(operand);
  for (size_t c = 0; c < callees.size(); ++c) {
    HALYARD_RETURN_IF_ERROR(checkArgument(builder, passed, value, inputs[c]), "input {} of {}", k,
                            callees[c]->text());
    arguments[c].push_back({inputs[c].index, value});
  }
  return okStatus();
}

// A subgraph as a model that control flow refers to.
struct CalleeModel {
  Model model;
  std::vector<Operand> results;
};

// `outputs`: the tensors of the callee that the model gives back.
Result<CalleeModel> modelOf(GraphBuilder& caller, const VerifiedFile& callee,
                            std::span<const Argument> arguments, std::span<const int32_t> outputs) {
  HALYARD_RETURN_IF_ERROR(caller.beginCall(callee));
  GraphBuilder builder(callee, caller);
  HALYARD_RETURN_IF_ERROR(builder.beginCallee(arguments, outputs), "{}", callee.text());
  HALYARD_RETURN_IF_ERROR(convertGraph(builder), "{}", callee.text());
  CalleeModel made;
  HALYARD_ASSIGN_OR_RETURN(made.model, builder.finishCallee(outputs), "{}", callee.text());
  caller.endCall();
  const Subgraph& graph = made.model.main;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Operand& result = graph.operands[graph.outputIndexes[i]];
    if (!knownElementCount(result.dimensions)) {
      return unsupported("output {} of {} has the shape {}, which only an execution knows", i,
                         callee.text(), shapeText(result.dimensions));
    }
    made.results.push_back(result);
  }
  return made;
}

// Converts all subgraphs, whose results must have the same shapes.
Result<std::vector<CalleeModel>> branchesOf(GraphBuilder& caller, const Calls& calls) {
  std::vector<CalleeModel> models;
  for (size_t c = 0; c < calls.callees.size(); ++c) {
    const VerifiedFile& callee = *calls.callees[c];
    HALYARD_ASSIGN_OR_RETURN(models.emplace_back(),
                             modelOf(caller, callee, calls.arguments[c], callee.outputs()));
    for (size_t i = 0; i < models[c].results.size(); ++i) {
      const Shape& one = models[0].results[i].dimensions;
      const Shape& other = models[c].results[i].dimensions;
      if (one == other) continue;
      return unsupported("output {} has the shape {} in {}, and {} in {}", i, shapeText(one),
                         calls.callees[0]->text(), shapeText(other), callee.text());
    }
  }
  return models;
}

// Declares output i of the node with the shape that its subgraph gives it.
Result<uint32_t> resultOutput(Node& node, size_t i, const Operand& result) {
  HALYARD_ASSIGN_OR_RETURN(const uint32_t output, node.builder().write(node.outputTensor(i)),
                           "output {}", i);
  HALYARD_RETURN_IF_ERROR(node.declareShape(output, result.dimensions), "output {}", i);
  Operand& declared = node.builder().operand(output);
  if (isSameValue(declared, result)) declared.scale = result.scale;
  return output;
}

Result<OperandIndexes> resultOutputs(Node& node, std::span<const Operand> results) {
  OperandIndexes outputs;
  for (size_t i = 0; i < results.size(); ++i) {
    HALYARD_ASSIGN_OR_RETURN(const uint32_t output, resultOutput(node, i, results[i]));
    outputs.push_back(output);
  }
  return outputs;
}

// Returns input 0, which decides, as a tensor of one element.
Result<uint32_t> deciderOf(Node& node, OperandType type) {
  HALYARD_ASSIGN_OR_RETURN(const uint32_t decider, node.input(0));
  const Operand& value = node.operand(decider);
  if (value.type != type || knownElementCount(value.dimensions) != 1u) {
    return badData("input 0 is {}, expected one element of {}", operandText(value),
                   operandTypeName(type));
  }
  if (value.dimensions == Shape{1}) return decider;
  return node.reshapedTo(decider, {1});
}

Status checkDecides(const Node& node) {
  if (node.inputCount() != 0 && node.outputCount() != 0) return okStatus();
  return badData("has {} inputs and {} outputs, expected one or more of both", node.inputCount(),
                 node.outputCount());
}

// Appends an IF that passes `values` to both models.
Status chooseBetween(GraphBuilder& builder, uint32_t condition, Model first, Model second,
                     const OperandIndexes& values, OperandIndexes outputs) {
  HALYARD_ASSIGN_OR_RETURN(const uint32_t one, builder.addReferenced(std::move(first)));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t other, builder.addReferenced(std::move(second)));
  OperandIndexes inputs = {condition, one, other};
  inputs.insert(inputs.end(), values.begin(), values.end());
  return builder.addControlFlow(OperationType::IF, std::move(inputs), std::move(outputs));
}

Status convertIf(Node& node) {
  HALYARD_RETURN_IF_ERROR(checkDecides(node));
  const auto* const options = node.options<tfl::IfOptions>();
  Calls calls;
  for (const int32_t index : {options->then_subgraph_index(), options->else_subgraph_index()}) {
    HALYARD_ASSIGN_OR_RETURN(Callee callee,
                             calleeOf(node, index, node.inputCount() - 1, node.outputCount()));
    calls.add(std::move(callee));
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t condition, deciderOf(node, OperandType::TENSOR_BOOL8));
  for (size_t i = 1; i < node.inputCount(); ++i) {
    HALYARD_RETURN_IF_ERROR(calls.pass(node, i, i - 1, /*mayBeConstant=*/true));
  }
  // A model of the C API has at least one input.
  if (calls.operands.empty()) calls.passUnread(node.builder(), condition);
  HALYARD_ASSIGN_OR_RETURN(std::vector<CalleeModel> branches, branchesOf(node.builder(), calls));
  HALYARD_ASSIGN_OR_RETURN(OperandIndexes outputs, resultOutputs(node, branches[0].results));
  return chooseBetween(node.builder(), condition, std::move(branches[0].model),
                       std::move(branches[1].model), calls.operands, std::move(outputs));
}

// Appends the choice of branch `number` by the index, which is the first of the values.
Status chooseBranch(GraphBuilder& builder, int32_t number, Model branch, Model others,
                    const OperandIndexes& values, OperandIndexes outputs) {
  HALYARD_ASSIGN_OR_RETURN(const uint32_t expected, builder.int32Tensor({1}, {&number, 1}));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t condition,
                           builder.addTemporary(OperandType::TENSOR_BOOL8, {1}, 0, 0, ""));
  HALYARD_RETURN_IF_ERROR(
      builder.addOperation(OperationType::EQUAL, {values[0], expected}, {condition}));
  return chooseBetween(builder, condition, std::move(branch), std::move(others), values,
                       std::move(outputs));
}

// As many as the interpreter takes.
constexpr size_t kMostBranches = 20;

// A chain of IFs: each one chooses between a branch and the model with the next one. An index
// without a branch chooses the last one.
Status convertCase(Node& node) {
  HALYARD_RETURN_IF_ERROR(checkDecides(node));
  HALYARD_RETURN_IF_ERROR(node.expectOptions2(tfl::BuiltinOptions2::StablehloCaseOptions));
  GraphBuilder& builder = node.builder();
  HALYARD_ASSIGN_OR_RETURN(
      const auto list,
      builder.file().optionList(node.op().options2,
                                tfl::StablehloCaseOptions::VT_BRANCH_SUBGRAPH_INDICES));
  const size_t count = list ? list->size() : 0;
  if (count < 2 || count > kMostBranches) {
    return unsupported("has {} branches, expected 2 to {}", count, kMostBranches);
  }
  Calls calls;
  for (const int32_t index : *list) {
    HALYARD_ASSIGN_OR_RETURN(Callee callee,
                             calleeOf(node, index, node.inputCount() - 1, node.outputCount()));
    calls.add(std::move(callee));
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t index, deciderOf(node, OperandType::TENSOR_INT32));
  // Branches do not read the index, but models of the chain do.
  calls.passUnread(builder, index);
  for (size_t i = 1; i < node.inputCount(); ++i) {
    HALYARD_RETURN_IF_ERROR(calls.pass(node, i, i - 1, /*mayBeConstant=*/true));
  }
  HALYARD_ASSIGN_OR_RETURN(std::vector<CalleeModel> branches, branchesOf(builder, calls));
  Model others = std::move(branches.back().model);
  for (size_t number = count - 2; number > 0; --number) {
    GraphBuilder link(*calls.callees[number], builder);
    std::vector<Argument> arguments = calls.arguments[number];
    for (Argument& argument : arguments) argument.tensor = -1;
    HALYARD_RETURN_IF_ERROR(link.beginCallee(arguments, {}));
    HALYARD_ASSIGN_OR_RETURN(const OperandIndexes outputs,
                             link.addResults(branches[number].results));
    OperandIndexes values;
    for (uint32_t i = 0; i < arguments.size(); ++i) values.push_back(i);
    HALYARD_RETURN_IF_ERROR(chooseBranch(link, static_cast<int32_t>(number),
                                         std::move(branches[number].model), std::move(others),
                                         values, outputs));
    HALYARD_ASSIGN_OR_RETURN(others, link.finishCallee({}));
  }
  HALYARD_ASSIGN_OR_RETURN(OperandIndexes outputs, resultOutputs(node, branches[0].results));
  return chooseBranch(builder, 0, std::move(branches[0].model), std::move(others), calls.operands,
                      std::move(outputs));
}

// The values of a loop that its body changes come first, then those that it only reads.
Status convertWhile(Node& node) {
  const size_t count = node.inputCount();
  HALYARD_RETURN_IF_ERROR(node.expectCounts(count, count, count));
  const auto* const options = node.options<tfl::WhileOptions>();
  HALYARD_ASSIGN_OR_RETURN(Callee test, calleeOf(node, options->cond_subgraph_index(), count, 1));
  HALYARD_ASSIGN_OR_RETURN(Callee turn,
                           calleeOf(node, options->body_subgraph_index(), count, count));
  const VerifiedFile& condition = *test;
  const VerifiedFile& body = *turn;
  Calls calls;
  calls.add(std::move(test));
  calls.add(std::move(turn));
  std::vector<size_t> changed;
  std::vector<int32_t> newValues;
  for (size_t i = 0; i < count; ++i) {
    if (body.outputs()[i] == body.inputs()[i]) continue;
    changed.push_back(i);
    newValues.push_back(body.outputs()[i]);
    HALYARD_RETURN_IF_ERROR(calls.pass(node, i, i, /*mayBeConstant=*/false));
  }
  if (changed.empty()) return unsupported("{} changes no value", body.text());
  for (size_t i = 0; i < count; ++i) {
    if (body.outputs()[i] != body.inputs()[i]) continue;
    HALYARD_RETURN_IF_ERROR(calls.pass(node, i, i, /*mayBeConstant=*/true));
    HALYARD_ASSIGN_OR_RETURN(const uint32_t same, node.builder().read(node.inputTensor(i)));
    HALYARD_RETURN_IF_ERROR(giveResult(node, i, same));
  }
  GraphBuilder& builder = node.builder();
  HALYARD_ASSIGN_OR_RETURN(CalleeModel goesOn,
                           modelOf(builder, condition, calls.arguments[0], condition.outputs()));
  HALYARD_ASSIGN_OR_RETURN(CalleeModel next, modelOf(builder, body, calls.arguments[1], newValues));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t first, builder.addReferenced(std::move(goesOn.model)));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t second, builder.addReferenced(std::move(next.model)));
  OperandIndexes inputs = {first, second};
  inputs.insert(inputs.end(), calls.operands.begin(), calls.operands.end());
  OperandIndexes outputs;
  for (size_t k = 0; k < changed.size(); ++k) {
    HALYARD_ASSIGN_OR_RETURN(const uint32_t output,
                             resultOutput(node, changed[k], next.results[k]));
    outputs.push_back(output);
  }
  return builder.addControlFlow(OperationType::WHILE, std::move(inputs), std::move(outputs));
}

// The effects of the subgraph are the first values of variables, and tables. Operators that read
// tables are refused.
Status convertCallOnce(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(0, 0, 0));
  const int32_t index = node.options<tfl::CallOnceOptions>()->init_subgraph_index();
  HALYARD_ASSIGN_OR_RETURN(const Callee callee, calleeOf(node, index, 0, 0));
  HALYARD_RETURN_IF_ERROR(node.builder().beginCall(*callee));
  Status taken = takeFirstValues(node.builder(), *callee);
  node.builder().endCall();
  if (!taken.ok()) return taken.annotate(callee->text());
  return callee->check();
}

Status convertComposite(Node& node) {
  using Options = tfl::StableHLOCompositeOptions;
  const FileOperator& op = node.op();
  HALYARD_RETURN_IF_ERROR(node.expectOptions2(tfl::BuiltinOptions2::StableHLOCompositeOptions));
  const VerifiedFile& file = node.builder().file();
  HALYARD_ASSIGN_OR_RETURN(
      const int32_t index,
      file.optionNumber(op.options2, Options::VT_DECOMPOSITION_SUBGRAPH_INDEX));
  HALYARD_RETURN_IF_ERROR(inlineCall(node, index), "'{}'",
                          file.optionText(op.options2, Options::VT_NAME));
  return okStatus();
}

using Op = tfl::BuiltinOperator;
using Opt = tfl::BuiltinOptions;

constexpr Converter kControlFlowConverters[] = {
    {Op::IF, Opt::IfOptions, OptionsNeed::REQUIRED, convertIf},
    {Op::WHILE, Opt::WhileOptions, OptionsNeed::REQUIRED, convertWhile},
    {Op::CALL_ONCE, Opt::CallOnceOptions, OptionsNeed::REQUIRED, convertCallOnce},
    {Op::STABLEHLO_COMPOSITE, Opt::NONE, OptionsNeed::OPTIONAL, convertComposite},
    {Op::STABLEHLO_CASE, Opt::NONE, OptionsNeed::OPTIONAL, convertCase},
};

}  // namespace

std::span<const Converter> controlFlowConverters() { return kControlFlowConverters; }

}  // namespace halyard::import
