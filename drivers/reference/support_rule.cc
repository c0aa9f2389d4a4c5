#include "support_rule.h"

#include <optional>
#include <string_view>
#include <vector>

namespace halyard::drivers {
namespace {

class RuleChecker {
 public:
  RuleChecker(const SupportRule& rule, const Model& model)
      : rule_(rule), model_(model), known_(model.referenced.size()) {}

  // OK, or the reason.
  Status check(const Subgraph& subgraph, const Operation& operation) {
    const bool isListed = !rule_.operations || rule_.operations->contains(operation.type);
    if (!isListed || rule_.notOperations.contains(operation.type)) {
      return badData("its personality does not allow {}", operationTypeName(operation.type));
    }
    HALYARD_RETURN_IF_ERROR(checkTypes(subgraph, operation.inputs, "input"));
    HALYARD_RETURN_IF_ERROR(checkTypes(subgraph, operation.outputs, "output"));
    HALYARD_RETURN_IF_ERROR(checkDecidingType(subgraph, operation));
    return checkInner(subgraph, operation);
  }

 private:
  Status checkTypes(const Subgraph& subgraph, const OperandIndexes& operands,
                    std::string_view what) const {
    for (size_t i = 0; i < operands.size(); ++i) {
      const OperandType type = subgraph.operands[operands[i]].type;
      const bool isListed = !rule_.operandTypes || rule_.operandTypes->contains(type);
      if (isListed && !rule_.notOperandTypes.contains(type)) continue;
      return badData("{} {} is {}, which its personality does not allow", what, i,
                     operandTypeName(type));
    }
    return okStatus();
  }

  Status checkDecidingType(const Subgraph& subgraph, const Operation& operation) const {
    if (!rule_.decidingTypes) return okStatus();
    const auto other = rule_.decidingInput.find(operation.type);
    const size_t input = other == rule_.decidingInput.end() ? 0 : other->second;
    if (input >= operation.inputs.size()) {
      return badData("it has no input {}, whose type decides by its personality", input);
    }
    const OperandType type = subgraph.operands[operation.inputs[input]].type;
    if (rule_.decidingTypes->contains(type)) return okStatus();
    return badData("input {} is {}, which its personality does not allow there", input,
                   operandTypeName(type));
  }

  // An operation with subgraphs is allowed if all operations of its subgraphs are allowed.
  Status checkInner(const Subgraph& subgraph, const Operation& operation) {
    for (const uint32_t index : operation.inputs) {
      const Operand& operand = subgraph.operands[index];
      if (operand.lifetime != Lifetime::SUBGRAPH) continue;
      const uint32_t referenced = operand.location.offset;
      if (!known_[referenced]) known_[referenced] = checkAll(referenced);
      HALYARD_RETURN_IF_ERROR(*known_[referenced]);
    }
    return okStatus();
  }
  Status checkAll(uint32_t referenced) {
    const Subgraph& inner = model_.referenced[referenced];
    for (size_t i = 0; i < inner.operations.size(); ++i) {
      HALYARD_RETURN_IF_ERROR(check(inner, inner.operations[i]), "{} of subgraph {}",
                              operationText(i, inner.operations[i].type), referenced);
    }
    return okStatus();
  }

  const SupportRule& rule_;
  const Model& model_;
  std::vector<std::optional<Status>> known_;  // by subgraph
};

}  // namespace

void restrict(const SupportRule& rule, const Model& model, hal::SupportedOperations& supported) {
  RuleChecker checker(rule, model);
  for (size_t i = 0; i < supported.size(); ++i) {
    if (!supported[i].supported) continue;
    const Status allowed = checker.check(model.main, model.main.operations[i]);
    if (!allowed.ok()) supported[i] = allowed;
  }
}

}  // namespace halyard::drivers
