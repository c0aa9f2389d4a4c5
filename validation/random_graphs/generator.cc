#include "validation/random_graphs/generator.h"

#include <algorithm>
#include <map>

#include "model/validation/validation.h"
#include "validation/random_graphs/control_flow.h"
#include "validation/random_graphs/graph_builder.h"

namespace halyard::random_graphs {
namespace {

constexpr size_t kAttemptsForEach = 40;

accuracy::Scope scopeFor(const GraphOptions& options) {
  if (options.operations > accuracy::kSmallGraph) return accuracy::Scope::LARGE_GRAPH;
  return options.operations > 1 ? accuracy::Scope::SMALL_GRAPH : accuracy::Scope::SUMS;
}

// Choices by the type that they work on. Each operation is chosen as often as any other,
// independent of the number of its rows.
class Menu {
 public:
  explicit Menu(const std::vector<Choice>& choices) {
    for (const Choice& choice : choices) {
      if (choice.definition->controlFlow != ops::ControlFlow::NONE) {
        controlFlow_.push_back(choice);
        continue;
      }
      add(all_, choice);
      add(byType_[choice.mainType()], choice);
    }
  }

  bool isEmpty() const { return all_.empty(); }
  const std::vector<Choice>& controlFlow() const { return controlFlow_; }
  OperandType randomType(Chance& chance) const {
    auto it = byType_.begin();
    std::advance(it, chance.below(byType_.size()));
    return it->first;
  }
  const Choice& any(Chance& chance) const { return chance.oneOf(chance.oneOf(all_)); }
  const Choice& of(OperandType type, Chance& chance) const {
    return chance.oneOf(chance.oneOf(byType_.at(type)));
  }
  std::vector<Choice> allOf(OperandType type) const {
    std::vector<Choice> result;
    for (const auto& rows : byType_.at(type)) result.insert(result.end(), rows.begin(), rows.end());
    return result;
  }
  // The types for which all three adapters exist.
  std::vector<OperandType> adaptedTypes() const {
    std::vector<OperandType> types;
    for (const auto& [type, operations] : byType_) {
      size_t found = 0;
      for (const auto& rows : operations) {
        const OperationType operation = rows[0].definition->type;
        found += operation == OperationType::RESHAPE || operation == OperationType::TILE ||
                 operation == OperationType::SLICE;
      }
      if (found == 3) types.push_back(type);
    }
    return types;
  }

 private:
  using Operations = std::vector<std::vector<Choice>>;
  static void add(Operations& to, const Choice& choice) {
    if (to.empty() || to.back()[0].definition != choice.definition) to.emplace_back();
    to.back().push_back(choice);
  }

  Operations all_;
  std::map<OperandType, Operations> byType_;
  std::vector<Choice> controlFlow_;
};

class Generation {
 public:
  explicit Generation(const GraphOptions& options)
      : options_(options),
        menu_(options.choices),
        chance_(options.seed),
        builder_(model_, chance_, scopeFor(options), true) {}

  Result<conformance::VectorCase> run() {
    if (menu_.isEmpty()) return badData("no operation to make a graph of");
    theme_ = menu_.randomType(chance_);
    model_.relaxComputationFloat32toFloat16 = chance_.oneIn(8);
    if (options_.operations > 1) builder_.allowAdapters(menu_.adaptedTypes());
    for (size_t attempt = 0; attempt < options_.operations * kAttemptsForEach; ++attempt) {
      if (builder_.operationCount() >= options_.operations) break;
      grow();
    }
    if (builder_.operationCount() == 0) {
      return opFailed("no operation could be placed in the graph of seed {}", options_.seed);
    }
    if (builder_.subgraph().inputIndexes.empty()) builder_.makeAnInput();
    return finish();
  }

 private:
  void grow() {
    const bool mayNest = options_.operations > 2 && !menu_.controlFlow().empty();
    if (mayNest && chance_.oneIn(20)) {
      (void)placeControlFlow(builder_, chance_.oneOf(menu_.controlFlow()), menu_.allOf(theme_));
      return;
    }
    const bool leavesTheme = options_.operations > 1 && chance_.oneIn(6);
    (void)builder_.place(leavesTheme ? menu_.any(chance_) : menu_.of(theme_, chance_));
  }

  // Results that no operation reads become outputs, and so do some others.
  Result<conformance::VectorCase> finish() {
    Subgraph& main = builder_.subgraph();
    const std::vector<uint32_t> consumers = countConsumers(main);
    conformance::VectorCase result;
    std::map<uint32_t, const GraphValue*> values;
    for (const GraphValue& value : builder_.values()) values[value.operand] = &value;
    for (uint32_t i = 0; i < main.operands.size(); ++i) {
      Operand& operand = main.operands[i];
      if (operand.lifetime != Lifetime::TEMPORARY_VARIABLE) continue;
      if (consumers[i] != 0 && !chance_.oneIn(8)) continue;
      operand.lifetime = Lifetime::SUBGRAPH_OUTPUT;
      main.outputIndexes.push_back(i);
    }
    for (const uint32_t index : main.inputIndexes) {
      result.inputs.push_back({values.at(index)->clean.bytes, false});
    }
    for (const uint32_t index : main.outputIndexes) {
      const TestOperand& clean = values.at(index)->clean;
      result.outputs.push_back({clean.bytes, clean.tensor.dims, values.at(index)->isUnspecified});
    }
    model_.main = main;
    HALYARD_RETURN_IF_ERROR(validateModel(model_).takeStatus(), "the graph of seed {}",
                            options_.seed);
    result.name = fmt::format("random_graph_{}", options_.seed);
    result.relaxed = model_.relaxComputationFloat32toFloat16;
    result.model = std::move(model_);
    return result;
  }

  const GraphOptions& options_;
  const Menu menu_;
  Chance chance_;
  Model model_;
  GraphBuilder builder_;
  OperandType theme_ = OperandType::TENSOR_FLOAT32;
};

}  // namespace

Result<conformance::VectorCase> generateGraph(const GraphOptions& options) {
  return Generation(options).run();
}

size_t operationsFor(uint64_t seed, size_t most) {
  Chance chance(seed ^ 0x5ca1ab1e);
  const uint32_t kind = chance.below(4);
  if (kind == 0 || most <= 1) return 1;
  if (kind == 1) return std::min<size_t>(most, 2 + chance.below(accuracy::kSmallGraph - 1));
  return 2 + chance.below(most - 1);
}

}  // namespace halyard::random_graphs
