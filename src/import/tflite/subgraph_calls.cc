// The part of GraphBuilder that converts subgraphs which nodes call: inlined ones, and the models
// that control flow refers to.
#include <algorithm>

#include "import/tflite/graph_builder.h"
#include "ops/operation.h"

namespace halyard::import {
namespace {

// Calls that are nested deeper come from no converter of models.
constexpr size_t kMostNestedCalls = 16;
// A multiple of the alignment of every constant in Model::operandValues.
constexpr size_t kValuesAlignment = 8;

ImportOptions ofCallee(ImportOptions options) {
  options.states = StateUse::FIRST_VALUES;
  options.nodeNumbers = {};
  options.inputShapes = {};
  return options;
}

}  // namespace

Status GraphBuilder::beginCall(const VerifiedFile& callee) {
  std::string path;
  for (const VerifiedFile* caller : calls_) path += fmt::format("{}, ", caller->number());
  const auto same = [&](const VerifiedFile* caller) { return caller->number() == callee.number(); };
  if (std::ranges::any_of(calls_, same)) {
    return badData("{} calls itself: the subgraphs {}{} call each other in turn", callee.text(),
                   path, callee.number());
  }
  if (calls_.size() > kMostNestedCalls) {
    return badData("{} is called by the subgraphs {}at most {} calls in turn are supported",
                   callee.text(), path, kMostNestedCalls);
  }
  // A small file may call the same subgraphs very often.
  const uint64_t needed = sizeof(VerifiedFile) + callee.tensorCount() * sizeof(Binding) +
                          callee.operatorCount() * sizeof(FileOperator) +
                          callee.operatorCodeCount() * sizeof(void*);
  HALYARD_RETURN_IF_ERROR(budget_.spend(needed), "the call of {}", callee.text());
  calls_.push_back(&callee);
  return okStatus();
}

void GraphBuilder::beginInlined(const VerifiedFile& callee) {
  callers_.push_back(std::exchange(graph_, Graph(callee)));
}

void GraphBuilder::endInlined() {
  graph_ = std::move(callers_.back());
  callers_.pop_back();
}

GraphBuilder::GraphBuilder(const VerifiedFile& callee, GraphBuilder& caller)
    : options_(ofCallee(caller.options_)),
      budget_(caller.budget_),
      calls_(caller.calls_),
      graph_(callee) {}

Status GraphBuilder::beginCallee(std::span<const Argument> arguments,
                                 std::span<const int32_t> outputs) {
  for (const Argument& argument : arguments) {
    Operand operand = argument.value;
    operand.lifetime = Lifetime::SUBGRAPH_INPUT;
    operand.location = {};
    HALYARD_ASSIGN_OR_RETURN(const uint32_t added, addOperand(std::move(operand), ""));
    model_.main.inputIndexes.push_back(added);
    if (argument.tensor < 0) continue;
    HALYARD_ASSIGN_OR_RETURN(const FileTensor tensor, file().tensor(argument.tensor));
    HALYARD_RETURN_IF_ERROR(bind(tensor, added));
  }
  graph_.outputs.assign(outputs.begin(), outputs.end());
  std::ranges::sort(graph_.outputs);
  return okStatus();
}

Result<OperandIndexes> GraphBuilder::addResults(std::span<const Operand> results) {
  OperandIndexes outputs;
  for (Operand operand : results) {
    operand.lifetime = Lifetime::SUBGRAPH_OUTPUT;
    operand.location = {};
    HALYARD_ASSIGN_OR_RETURN(const uint32_t added, addOperand(std::move(operand), ""));
    outputs.push_back(added);
    appendOutput(added);
  }
  return outputs;
}

Result<Model> GraphBuilder::finishCallee(std::span<const int32_t> outputs) {
  HALYARD_RETURN_IF_ERROR(giveOutputs(outputs));
  if (!knownInts_.empty()) dropUnread();
  HALYARD_RETURN_IF_ERROR(placeConstants());
  HALYARD_RETURN_IF_ERROR(file().check());
  return std::move(model_);
}

Result<uint32_t> GraphBuilder::addReferenced(Model callee) {
  std::vector<uint8_t>& values = model_.operandValues;
  values.resize((values.size() + kValuesAlignment - 1) / kValuesAlignment * kValuesAlignment);
  HALYARD_RETURN_IF_ERROR(budget_.spend(callee.operandValues.size()));
  const size_t valuesBegin = values.size();
  if (valuesBegin + callee.operandValues.size() > UINT32_MAX) {
    return unsupported("has more than 4 GiB of constants: not supported");
  }
  values.insert(values.end(), callee.operandValues.begin(), callee.operandValues.end());
  std::vector<uint32_t> pools;
  for (const SharedMemoryPtr& pool : callee.pools) pools.push_back(poolIndex(pool));
  const size_t graphsBegin = model_.referenced.size();
  for (Subgraph& graph : callee.referenced) model_.referenced.push_back(std::move(graph));
  model_.referenced.push_back(std::move(callee.main));
  for (Subgraph& graph : std::span(model_.referenced).subspan(graphsBegin)) {
    for (Operand& operand : graph.operands) {
      DataLocation& at = operand.location;
      if (operand.lifetime == Lifetime::CONSTANT_COPY) {
        at.offset += static_cast<uint32_t>(valuesBegin);
      } else if (operand.lifetime == Lifetime::CONSTANT_REFERENCE) {
        at.poolIndex = pools[at.poolIndex];
      } else if (operand.lifetime == Lifetime::SUBGRAPH) {
        at.offset += static_cast<uint32_t>(graphsBegin);
      }
    }
  }
  Operand reference;
  reference.type = OperandType::MODEL;
  reference.lifetime = Lifetime::SUBGRAPH;
  reference.location.offset = static_cast<uint32_t>(model_.referenced.size() - 1);
  return addOperand(std::move(reference), "");
}

Status GraphBuilder::addControlFlow(OperationType type, OperandIndexes inputs,
                                    OperandIndexes outputs) {
  Operation operation{type, std::move(inputs), std::move(outputs)};
  const Result<FeatureLevel> level = ops::checkSignature(
      ops::definitionOf(type)->signature, ops::OperationView(model_, model_.main, operation));
  if (!level.ok()) {
    return unsupported("{} of NNAPI does not take it: {}", operationTypeName(type),
                       level.status().message());
  }
  model_.main.operations.push_back(std::move(operation));
  return okStatus();
}

uint32_t GraphBuilder::poolIndex(const SharedMemoryPtr& pool) {
  const auto found = std::ranges::find(model_.pools, pool);
  if (found != model_.pools.end()) return static_cast<uint32_t>(found - model_.pools.begin());
  model_.pools.push_back(pool);
  return static_cast<uint32_t>(model_.pools.size() - 1);
}

void GraphBuilder::nameExtension() {
  const auto uses = [](const Subgraph& graph) {
    return std::ranges::any_of(graph.operations, [](const Operation& operation) {
      return isTfliteOperation(operation.type);
    });
  };
  if (!uses(model_.main) && std::ranges::none_of(model_.referenced, uses)) return;
  model_.extensionNameToPrefix = {{std::string(kTfliteExtension), kTfliteExtensionPrefix}};
}

}  // namespace halyard::import
