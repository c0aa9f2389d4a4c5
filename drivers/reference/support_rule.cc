#include "support_rule.h"

#include <algorithm>

namespace halyard::drivers {
namespace {

class RuleChecker {
 public:
  RuleChecker(const SupportRule& rule, const Model& model)
      : rule_(rule), model_(model), known_(model.referenced.size()) {}

  bool allows(const Subgraph& subgraph, const Operation& operation) {
    if (rule_.operations && !rule_.operations->contains(operation.type)) return false;
    if (rule_.notOperations.contains(operation.type)) return false;
    const auto typeAllowed = [&](uint32_t index) {
      const OperandType type = subgraph.operands[index].type;
      return (!rule_.operandTypes || rule_.operandTypes->contains(type)) &&
             !rule_.notOperandTypes.contains(type);
    };
    return std::all_of(operation.inputs.begin(), operation.inputs.end(), typeAllowed) &&
           std::all_of(operation.outputs.begin(), operation.outputs.end(), typeAllowed) &&
           decides(subgraph, operation) && allowsInner(subgraph, operation);
  }

 private:
  bool decides(const Subgraph& subgraph, const Operation& operation) const {
    if (!rule_.decidingTypes) return true;
    const auto other = rule_.decidingInput.find(operation.type);
    const size_t input = other == rule_.decidingInput.end() ? 0 : other->second;
    return input < operation.inputs.size() &&
           rule_.decidingTypes->contains(subgraph.operands[operation.inputs[input]].type);
  }

  // An operation with subgraphs is allowed if all operations of its subgraphs are allowed.
  bool allowsInner(const Subgraph& subgraph, const Operation& operation) {
    return std::all_of(operation.inputs.begin(), operation.inputs.end(), [&](uint32_t index) {
      const Operand& operand = subgraph.operands[index];
      if (operand.lifetime != Lifetime::SUBGRAPH) return true;
      std::optional<bool>& answer = known_[operand.location.offset];
      if (!answer) {
        const Subgraph& inner = model_.referenced[operand.location.offset];
        answer = std::all_of(inner.operations.begin(), inner.operations.end(),
                             [&](const Operation& each) { return allows(inner, each); });
      }
      return *answer;
    });
  }

  const SupportRule& rule_;
  const Model& model_;
  std::vector<std::optional<bool>> known_;
};

}  // namespace

std::vector<bool> allowedOperations(const SupportRule& rule, const Model& model) {
  RuleChecker checker(rule, model);
  std::vector<bool> allowed;
  for (const Operation& operation : model.main.operations) {
    allowed.push_back(checker.allows(model.main, operation));
  }
  return allowed;
}

}  // namespace halyard::drivers
