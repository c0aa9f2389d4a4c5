#include "validation/random_graphs/default_inputs.h"

#include <algorithm>

namespace halyard::random_graphs {
namespace {

const ops::Form& formOf(const Choice& choice) {
  return choice.definition->signature.forms[choice.variant.form];
}

// The operand in place of an input that is left out.
Result<Operand> operandFor(const ops::OperandSpec& spec, Model& model) {
  Operand operand;
  operand.type = spec.fixed;
  if (spec.omittable) {
    operand.lifetime = Lifetime::NO_VALUE;
    return operand;
  }
  if (!spec.defaultValue) return badData("no default is known of the input '{}'", spec.name);
  operand.lifetime = Lifetime::CONSTANT_COPY;
  const int32_t value = *spec.defaultValue;
  const auto flag = static_cast<uint8_t>(value);
  operand.location = spec.fixed == OperandType::BOOL ? appendConstant(model, &flag, sizeof flag)
                                                     : appendConstant(model, &value, sizeof value);
  return operand;
}

}  // namespace

std::vector<Choice> shortestChoices() {
  std::vector<Choice> found;
  for (const Choice& choice : allChoices()) {
    if (choice.definition->controlFlow != ops::ControlFlow::NONE) continue;
    const ops::Form& form = formOf(choice);
    if (form.counts.empty() || form.repeated >= 0) continue;
    const bool isShortest = std::ranges::none_of(form.counts, [&](const ops::CountRule& rule) {
      return rule.count < choice.variant.inputs;
    });
    if (isShortest && lengthsOf(choice, false).size() > 1) found.push_back(choice);
  }
  return found;
}

std::vector<size_t> lengthsOf(const Choice& choice, bool withDefaults) {
  const ops::Form& form = formOf(choice);
  const size_t own = choice.variant.inputs;
  std::vector<size_t> lengths = {own};
  for (const ops::CountRule& rule : form.counts) {
    if (rule.count <= own) continue;
    const auto added = std::span(form.inputs).subspan(own, rule.count - own);
    const bool haveDefaults =
        std::ranges::all_of(added, [](const auto& spec) { return spec.defaultValue.has_value(); });
    if (haveDefaults || !withDefaults) lengths.push_back(rule.count);
  }
  std::ranges::sort(lengths);
  return lengths;
}

Status lengthen(Model& model, const Choice& choice, size_t inputs) {
  Operation& operation = model.main.operations[0];
  while (operation.inputs.size() < inputs) {
    const size_t position = operation.inputs.size();
    const ops::OperandSpec& spec = formOf(choice).inputs[position];
    HALYARD_ASSIGN_OR_RETURN(Operand operand, operandFor(spec, model));
    if (spec.column >= 0) {
      ops::testing::Variant longer = choice.variant;
      longer.inputs = inputs;
      operand.type = ops::testing::tableType(choice.definition->signature, longer, true, position);
    }
    operation.inputs.push_back(static_cast<uint32_t>(model.main.operands.size()));
    model.main.operands.push_back(std::move(operand));
  }
  return okStatus();
}

}  // namespace halyard::random_graphs
