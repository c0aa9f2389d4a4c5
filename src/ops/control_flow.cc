// IF and WHILE: the requirements for their operands and for the subgraphs that they refer to. The
// executor runs the subgraphs.
#include "ops/operation.h"

namespace halyard::ops {
namespace {

// The name of an operand in an error: "output 1 of the body model".
struct Place {
  std::string_view kind;  // "input" or "output"
  size_t index;
  std::string_view owner;

  std::string text() const { return fmt::format("{} {} of the {}", kind, index, owner); }
};

bool dimensionsMayAgree(const Shape& a, const Shape& b) {
  if (a.empty() || b.empty()) return true;  // a rank is unknown
  if (a.size() != b.size()) return false;
  for (size_t d = 0; d < a.size(); ++d) {
    if (a[d] != b[d] && a[d] != 0 && b[d] != 0) return false;
  }
  return true;
}

// Checks whether a value can pass from one operand to the other unchanged.
Status checkCompatible(const Operand& a, const Place& atA, const Operand& b, const Place& atB) {
  const bool same = a.type == b.type && a.scale == b.scale && a.zeroPoint == b.zeroPoint &&
                    a.extraParams == b.extraParams &&
                    (isScalarType(a.type) || dimensionsMayAgree(a.dimensions, b.dimensions));
  if (same) return okStatus();
  return badData("{} is {}, but {} is {}", atA.text(), operandText(a), atB.text(), operandText(b));
}

// Returns the subgraph that input i refers to. Null while a model is built and does not have it
// yet.
const Subgraph* subgraphAt(const OperationView& operation, size_t i) {
  const Operand& operand = operation.input(i);
  const auto& referenced = operation.model().referenced;
  if (operand.lifetime != Lifetime::SUBGRAPH) return nullptr;
  return operand.location.offset < referenced.size() ? &referenced[operand.location.offset]
                                                     : nullptr;
}

// Returns operand i of a subgraph's inputs or outputs. The index lists may not have been validated
// yet.
Result<const Operand*> listed(const Subgraph& subgraph, const std::vector<uint32_t>& list, size_t i,
                              const Place& at) {
  if (list[i] >= subgraph.operands.size()) {
    return badData("{} is operand #{} of {}", at.text(), list[i], subgraph.operands.size());
  }
  return &subgraph.operands[list[i]];
}

Status checkCount(size_t found, size_t expected, std::string_view what, std::string_view owner) {
  if (found == expected) return okStatus();
  return badData("the {} has {} {}s, expected {}", owner, found, what, expected);
}

constexpr std::string_view kOperation = "operation";

// Checks that the subgraph's inputs accept the operation's inputs from `first` on.
Status checkInputs(const OperationView& operation, size_t first, const Subgraph& subgraph,
                   std::string_view owner) {
  HALYARD_RETURN_IF_ERROR(
      checkCount(subgraph.inputIndexes.size(), operation.inputCount() - first, "input", owner));
  for (size_t i = 0; i < subgraph.inputIndexes.size(); ++i) {
    const Place inner{"input", i, owner};
    HALYARD_ASSIGN_OR_RETURN(const Operand* operand,
                             listed(subgraph, subgraph.inputIndexes, i, inner));
    HALYARD_RETURN_IF_ERROR(checkCompatible(*operand, inner, operation.input(first + i),
                                            {"input", first + i, kOperation}));
  }
  return okStatus();
}

// Checks that the first outputs of the subgraph can become the operation's.
Status checkOutputs(const OperationView& operation, const Subgraph& subgraph,
                    std::string_view owner) {
  for (size_t i = 0; i < operation.outputCount(); ++i) {
    const Place inner{"output", i, owner};
    HALYARD_ASSIGN_OR_RETURN(const Operand* operand,
                             listed(subgraph, subgraph.outputIndexes, i, inner));
    HALYARD_RETURN_IF_ERROR(
        checkCompatible(*operand, inner, operation.output(i), {"output", i, kOperation}));
  }
  return okStatus();
}

Status checkCondition(const Operand& operand, const Place& at) {
  if (operand.type == OperandType::TENSOR_BOOL8 && operand.dimensions == Shape{1}) {
    return okStatus();
  }
  return badData("{} is {}, expected TENSOR_BOOL8[1]", at.text(), operandText(operand));
}

Status checkBranch(const OperationView& operation, FeatureLevel& level) {
  level = std::max(level, FeatureLevel::FL4);
  if (operation.input(0).lifetime == Lifetime::NO_VALUE) {
    return badData("input 0 (condition) has no value, but the operation needs it");
  }
  HALYARD_RETURN_IF_ERROR(checkCondition(operation.input(0), {"input", 0, kOperation}));
  constexpr std::string_view kOwners[] = {"then-model", "else-model"};
  for (size_t i = 0; i < 2; ++i) {
    const Subgraph* subgraph = subgraphAt(operation, 1 + i);
    if (subgraph == nullptr) continue;
    HALYARD_RETURN_IF_ERROR(checkInputs(operation, 3, *subgraph, kOwners[i]));
    HALYARD_RETURN_IF_ERROR(
        checkCount(subgraph->outputIndexes.size(), operation.outputCount(), "output", kOwners[i]));
    HALYARD_RETURN_IF_ERROR(checkOutputs(operation, *subgraph, kOwners[i]));
  }
  return okStatus();
}

Status checkLoopBody(const OperationView& operation, const Subgraph& body) {
  constexpr std::string_view kOwner = "body model";
  HALYARD_RETURN_IF_ERROR(checkInputs(operation, 2, body, kOwner));
  const size_t values = body.outputIndexes.size();
  if (values < operation.outputCount() || values > body.inputIndexes.size()) {
    return badData("the {} has {} outputs, expected {} to {}", kOwner, values,
                   operation.outputCount(), body.inputIndexes.size());
  }
  HALYARD_RETURN_IF_ERROR(checkOutputs(operation, body, kOwner));
  for (size_t i = 0; i < values; ++i) {
    const Place output{"output", i, kOwner};
    const Place input{"input", i, kOwner};
    HALYARD_ASSIGN_OR_RETURN(const Operand* to, listed(body, body.outputIndexes, i, output));
    HALYARD_ASSIGN_OR_RETURN(const Operand* from, listed(body, body.inputIndexes, i, input));
    HALYARD_RETURN_IF_ERROR(checkCompatible(*to, output, *from, input));
  }
  return okStatus();
}

Status checkLoop(const OperationView& operation, FeatureLevel& level) {
  level = std::max(level, FeatureLevel::FL4);
  if (const Subgraph* condition = subgraphAt(operation, 0)) {
    constexpr std::string_view kOwner = "condition model";
    HALYARD_RETURN_IF_ERROR(checkInputs(operation, 2, *condition, kOwner));
    HALYARD_RETURN_IF_ERROR(checkCount(condition->outputIndexes.size(), 1, "output", kOwner));
    const Place output{"output", 0, kOwner};
    HALYARD_ASSIGN_OR_RETURN(const Operand* result,
                             listed(*condition, condition->outputIndexes, 0, output));
    HALYARD_RETURN_IF_ERROR(checkCondition(*result, output));
  }
  if (const Subgraph* body = subgraphAt(operation, 1)) {
    HALYARD_RETURN_IF_ERROR(checkLoopBody(operation, *body));
  }
  return okStatus();
}

OperationDefinition defineBranch() {
  OperationDefinition definition;
  definition.type = OperationType::IF;
  const std::vector<OperandSpec> fixedInputs = {
      fixed("condition", OperandType::TENSOR_BOOL8, rank(1)),
      fixed("then-model", OperandType::MODEL), fixed("else-model", OperandType::MODEL)};
  Form withValues{.name = "with values", .inputs = fixedInputs, .counts = {}, .repeated = 3};
  withValues.inputs.push_back(anyType("value").orOmitted());
  definition.signature = {
      .rows = {},
      .forms = {{.name = "without values", .inputs = fixedInputs, .counts = {}}, withValues},
      .outputs = {anyType("output")},
      .repeatedOutput = 0,
      .check = checkBranch,
  };
  definition.controlFlow = ControlFlow::BRANCH;
  definition.acceptsZeroSized = true;
  return definition;
}

OperationDefinition defineLoop() {
  OperationDefinition definition;
  definition.type = OperationType::WHILE;
  definition.signature = {
      .rows = {},
      .forms = {{.name = "",
                 .inputs = {fixed("condition model", OperandType::MODEL),
                            fixed("body model", OperandType::MODEL), anyType("value").orOmitted()},
                 .counts = {},
                 .repeated = 2}},
      .outputs = {anyType("output")},
      .repeatedOutput = 0,
      .check = checkLoop,
  };
  definition.controlFlow = ControlFlow::LOOP;
  definition.acceptsZeroSized = true;
  return definition;
}

}  // namespace

const OperationDefinition& branch() {
  return madeOnce([] { return defineBranch(); });
}

const OperationDefinition& loop() {
  return madeOnce([] { return defineLoop(); });
}

}  // namespace halyard::ops
