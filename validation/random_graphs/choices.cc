#include "validation/random_graphs/choices.h"

#include <algorithm>
#include <cctype>

namespace halyard::random_graphs {
namespace {

constexpr std::string_view kTensorPrefix = "TENSOR_";

std::string shortName(OperandType type) {
  std::string name = operandTypeName(type);
  if (name.starts_with(kTensorPrefix)) name.erase(0, kTensorPrefix.size());
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name;
}

}  // namespace

std::vector<Choice> allChoices(const std::set<OperandType>& types) {
  std::vector<Choice> choices;
  for (int32_t code = 0;; ++code) {
    const ops::OperationDefinition* definition =
        ops::definitionOf(static_cast<OperationType>(code));
    if (definition == nullptr) return choices;
    if (definition->isRandom) continue;
    if (definition->controlFlow != ops::ControlFlow::NONE) {
      choices.push_back({definition, {}});
      continue;
    }
    for (const auto& variant : ops::testing::variantsOf(definition->signature)) {
      const Choice choice = {definition, variant};
      if (types.empty() || types.contains(choice.mainType())) choices.push_back(choice);
    }
  }
}

std::vector<std::string> typeNames() {
  std::set<OperandType> types;
  for (const Choice& choice : allChoices()) {
    if (choice.definition->controlFlow != ops::ControlFlow::NONE) continue;
    if (!isScalarType(choice.mainType())) types.insert(choice.mainType());
  }
  std::vector<std::string> names;
  for (const OperandType type : types) names.push_back(shortName(type));
  return names;
}

Result<std::set<OperandType>> typesFromNames(std::span<const std::string> names) {
  std::set<OperandType> types;
  for (const std::string& name : names) {
    bool found = false;
    for (const OperandTypeTraits& traits : allOperandTypes()) {
      if (shortName(traits.type) != name || isScalarType(traits.type)) continue;
      types.insert(traits.type);
      found = true;
    }
    if (!found) return badData("no type '{}'; types are {}", name, fmt::join(typeNames(), ", "));
  }
  return types;
}

}  // namespace halyard::random_graphs
