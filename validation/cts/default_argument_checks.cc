// RemoveDefaultArguments: trailing inputs may be left out if they have their default values. Each
// operation with such inputs is run with each legal number of inputs. A driver must support an
// operation either both with and without default inputs, or in neither form. The runtime leaves
// them out, so the driver cannot decide by their number.
#include "accuracy/accuracy.h"
#include "client/session.h"
#include "validation/cts/api_world.h"
#include "validation/random_graphs/default_inputs.h"
#include "validation/random_graphs/generator.h"

namespace halyard::validation {
namespace {

using random_graphs::Choice;

// Returns whether the device takes the model. If so, computes it and compares the results with the
// case.
Result<bool> tryLength(const ApiWorld& world, const conformance::VectorCase& graph,
                       std::shared_ptr<const Model> model) {
  HALYARD_ASSIGN_OR_RETURN(const auto session, client::Session::create(model), "model");
  HALYARD_ASSIGN_OR_RETURN(const std::vector<bool> takes,
                           session->supportedOperations(world.device()));
  if (takes != std::vector<bool>{true}) return false;
  HALYARD_RETURN_IF_ERROR(session->compile(world.device()), "compilation");
  std::vector<client::Input> inputs;
  for (const auto& input : graph.inputs) inputs.push_back({input.bytes, {}, input.bytes.empty()});
  HALYARD_ASSIGN_OR_RETURN(const client::Computation execution, session->execute(inputs),
                           "execution");
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    if (graph.outputs[i].ignored) continue;
    const OperandType type = model->main.operands[model->main.outputIndexes[i]].type;
    if (execution.outputs[i].dimensions != graph.outputs[i].dims) {
      return opFailed("output {} has dimensions {}, expected {}", i,
                      shapeText(execution.outputs[i].dimensions), shapeText(graph.outputs[i].dims));
    }
    const auto criteria = accuracy::criteriaFor(type, accuracy::scopeOf(*model), graph.relaxed);
    const auto compared =
        accuracy::compareValues(type, criteria, graph.outputs[i].bytes, execution.outputs[i].bytes);
    if (compared.failed) return opFailed("output {}: {}", i, compared.text);
  }
  return true;
}

CheckResult tryOperation(const ApiWorld& world, const std::vector<Choice>& choices,
                         uint64_t seeds) {
  size_t runs = 0;
  for (const Choice& choice : choices) {
    for (uint64_t seed = 1; seed <= seeds; ++seed) {
      const auto graph = random_graphs::generateGraph({seed, 1, {choice}});
      if (!graph.ok()) continue;  // this row of the tables has no legal case
      const std::vector<size_t> lengths = random_graphs::lengthsOf(choice, false);
      const std::vector<size_t> sameToDrivers = random_graphs::lengthsOf(choice, true);
      const auto nameOf = [&](size_t length) {
        return fmt::format("{} with {} of {} inputs, {}, seed {}",
                           operationTypeName(choice.definition->type), length, lengths.back(),
                           operandTypeName(choice.mainType()), seed);
      };
      bool takesShortest = false;
      for (const size_t length : lengths) {
        auto model = std::make_shared<Model>(graph->model);
        HALYARD_RETURN_IF_ERROR(random_graphs::lengthen(*model, choice, length));
        HALYARD_ASSIGN_OR_RETURN(const bool takes, tryLength(world, *graph, model), "{}",
                                 nameOf(length));
        if (length == lengths[0]) takesShortest = takes;
        if (takes != takesShortest && std::ranges::count(sameToDrivers, length) != 0) {
          return opFailed("{}: the device takes it {} its inputs with default values, and not {}",
                          nameOf(length), takes ? "with" : "without", takes ? "without" : "with");
        }
        runs += takes;
      }
    }
  }
  if (runs == 0) return CheckResult::skipped("the device does not take the operation");
  return CheckResult::passed(fmt::format("{} executions", runs));
}

}  // namespace

void listDefaultArgumentChecks(ApiChecks& checks) {
  const std::vector<Choice> choices = random_graphs::shortestChoices();
  const uint64_t seeds = checks.full() ? 10 : 1;
  for (size_t i = 0; i < choices.size();) {
    size_t end = i;
    while (end < choices.size() && choices[end].definition == choices[i].definition) ++end;
    Check& check = checks.addAny(
        fmt::format("default_arguments/{}", operationTypeName(choices[i].definition->type)),
        "trailing inputs with their default values, and none, give the same results",
        [own = std::vector<Choice>(choices.begin() + static_cast<ptrdiff_t>(i),
                                   choices.begin() + static_cast<ptrdiff_t>(end)),
         seeds](ApiWorld& world) { return tryOperation(world, own, seeds); });
    check.requirements = {"ND-025", "ND-052"};
    check.expectedSeconds = 0.01 * static_cast<double>(end - i);
    i = end;
  }
}

}  // namespace halyard::validation
