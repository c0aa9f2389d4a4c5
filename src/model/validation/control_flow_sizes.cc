#include "model/validation/control_flow_sizes.h"

#include <array>

#include "ops/operation.h"

namespace halyard {
namespace {

bool hasUnknownSize(const Operand& operand) {
  if (operand.lifetime == Lifetime::NO_VALUE || operand.lifetime == Lifetime::SUBGRAPH) {
    return false;
  }
  // A scalar of an extension looks like a tensor of unknown rank. Only its driver knows the
  // difference.
  if (isExtension(operand.type) && operand.dimensions.empty()) return false;
  return !isScalarType(operand.type) && !knownElementCount(operand.dimensions);
}

// Returns the first operand of unknown size in `list`, which holds operands of `subgraph`.
std::string firstUnknown(const Subgraph& subgraph, std::span<const uint32_t> list,
                         std::string_view kind, std::string_view owner) {
  for (size_t i = 0; i < list.size(); ++i) {
    const Operand& operand = subgraph.operands[list[i]];
    if (!hasUnknownSize(operand)) continue;
    return fmt::format("{} {}{} is {}, of unknown size", kind, i, owner, operandText(operand));
  }
  return {};
}

Status checkSubgraph(const Model& model, const Subgraph& subgraph) {
  for (size_t i = 0; i < subgraph.operations.size(); ++i) {
    const std::string unknown = unknownSizeAtBoundary(model, subgraph, subgraph.operations[i]);
    if (unknown.empty()) continue;
    return badData("{}: a driver has no control flow of unknown sizes; {}",
                   operationText(i, subgraph.operations[i].type), unknown);
  }
  return okStatus();
}

}  // namespace

std::string unknownSizeAtBoundary(const Model& model, const Subgraph& subgraph,
                                  const Operation& operation) {
  const ops::OperationDefinition* const definition = ops::definitionOf(operation.type);
  if (definition == nullptr || definition->controlFlow == ops::ControlFlow::NONE) return {};
  const bool isIf = definition->controlFlow == ops::ControlFlow::BRANCH;
  std::string found = firstUnknown(subgraph, operation.inputs, "input", "");
  if (found.empty()) found = firstUnknown(subgraph, operation.outputs, "output", "");
  constexpr std::array<std::string_view, 2> kOfIf = {" of the then-model", " of the else-model"};
  constexpr std::array<std::string_view, 2> kOfWhile = {" of the condition model",
                                                        " of the body model"};
  for (size_t i = 0; found.empty() && i < 2; ++i) {
    const Operand& reference = subgraph.operands[operation.inputs[isIf ? 1 + i : i]];
    const Subgraph& inner = model.referenced[reference.location.offset];
    const std::string_view owner = (isIf ? kOfIf : kOfWhile)[i];
    found = firstUnknown(inner, inner.inputIndexes, "input", owner);
    if (found.empty()) found = firstUnknown(inner, inner.outputIndexes, "output", owner);
  }
  return found;
}

Status checkBoundarySizes(const Model& model) {
  if (model.referenced.empty()) return okStatus();
  HALYARD_RETURN_IF_ERROR(checkSubgraph(model, model.main));
  for (size_t i = 0; i < model.referenced.size(); ++i) {
    HALYARD_RETURN_IF_ERROR(checkSubgraph(model, model.referenced[i]), "referenced subgraph {}", i);
  }
  return okStatus();
}

}  // namespace halyard
