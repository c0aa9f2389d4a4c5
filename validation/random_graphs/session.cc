#include "validation/random_graphs/session.h"

#include <algorithm>

#include "ops/testing/searched_case.h"
#include "validation/random_graphs/generator.h"
#include "validation/random_graphs/graph_builder.h"
#include "validation/random_graphs/shrinker.h"
#include "validation/random_graphs/surgery.h"

namespace halyard::random_graphs {
namespace {

using conformance::VectorCase;

constexpr unsigned kSurveyAttempts = 6;
constexpr unsigned kMostCuts = 4;

// A case of the operation alone, with its own inputs.
std::optional<VectorCase> aloneCase(const Choice& choice) {
  for (unsigned attempt = 0; attempt < kSurveyAttempts; ++attempt) {
    const auto legal = ops::testing::triedCase(*choice.definition, choice.variant, attempt);
    if (!legal.ok()) continue;
    VectorCase result;
    result.model = ops::testing::toModel(*legal);
    // The case is not computed, but a case must have values.
    const Subgraph& main = result.model.main;
    const auto zeros = [&](uint32_t index) {
      const Operand& operand = main.operands[index];
      return std::vector<uint8_t>(knownByteSize(operand.type, operand.dimensions).value_or(0));
    };
    for (const uint32_t index : main.inputIndexes) result.inputs.push_back({zeros(index), false});
    for (const uint32_t index : main.outputIndexes) {
      result.outputs.push_back({zeros(index), main.operands[index].dimensions, false});
    }
    return result;
  }
  return std::nullopt;
}

// Adds the case's operation, operands, constants and values to another.
void append(VectorCase one, VectorCase* question) {
  const Model& from = one.model;
  Model* const to = &question->model;
  const auto shift = static_cast<uint32_t>(to->main.operands.size());
  for (Operand operand : from.main.operands) {
    if (operand.lifetime == Lifetime::CONSTANT_COPY) {
      operand.location = appendConstant(*to, from.operandValues.data() + operand.location.offset,
                                        operand.location.length);
    }
    to->main.operands.push_back(std::move(operand));
  }
  Operation operation = from.main.operations[0];
  for (uint32_t& index : operation.inputs) index += shift;
  for (uint32_t& index : operation.outputs) index += shift;
  to->main.operations.push_back(std::move(operation));
  for (const uint32_t index : from.main.inputIndexes)
    to->main.inputIndexes.push_back(index + shift);
  for (const uint32_t index : from.main.outputIndexes) {
    to->main.outputIndexes.push_back(index + shift);
  }
  std::ranges::move(one.inputs, std::back_inserter(question->inputs));
  std::ranges::move(one.outputs, std::back_inserter(question->outputs));
}

}  // namespace

Survey makeSurvey(const std::vector<Choice>& choices) {
  Survey survey;
  for (size_t i = 0; i < choices.size(); ++i) {
    if (choices[i].definition->controlFlow != ops::ControlFlow::NONE) continue;
    auto alone = aloneCase(choices[i]);
    if (!alone) continue;
    append(std::move(*alone), &survey.question);
    survey.of.push_back(i);
  }
  return survey;
}

Result<std::vector<Choice>> supportedChoices(GraphRunner& runner,
                                             const std::vector<Choice>& choices) {
  const Survey survey = makeSurvey(choices);
  std::vector<Choice> result;
  for (const Choice& choice : choices) {
    if (choice.definition->controlFlow != ops::ControlFlow::NONE) result.push_back(choice);
  }
  if (survey.of.empty()) return result;
  HALYARD_ASSIGN_OR_RETURN(const std::vector<bool> supported, runner.supported(survey.question),
                           "asking which operations the device supports");
  for (size_t i = 0; i < survey.of.size(); ++i) {
    if (i < supported.size() && supported[i]) result.push_back(choices[survey.of[i]]);
  }
  return result;
}

Result<std::optional<VectorCase>> graphFor(const SeedOptions& options, GraphRunner& runner) {
  auto generated = generateGraph(
      {options.seed, operationsFor(options.seed, options.operations), options.choices});
  // For some operations almost no results are useful.
  if (generated.status().code() == ResultCode::OP_FAILED) return std::optional<VectorCase>();
  HALYARD_ASSIGN_OR_RETURN(VectorCase graph, std::move(generated));
  for (unsigned round = 0; round < kMostCuts; ++round) {
    HALYARD_ASSIGN_OR_RETURN(const std::vector<bool> supported, runner.supported(graph),
                             "asking what the device supports of the graph of seed {}",
                             options.seed);
    if (std::ranges::find(supported, false) == supported.end()) {
      return std::optional<VectorCase>(std::move(graph));
    }
    if (std::ranges::find(supported, true) == supported.end()) break;
    HALYARD_ASSIGN_OR_RETURN(const std::vector<TestOperand> values, valuesOf(graph));
    HALYARD_ASSIGN_OR_RETURN(graph, cutOut(graph, values, supported));
  }
  return std::optional<VectorCase>();
}

SmallestFailure findSmallest(VectorCase failing, Verdict first, GraphRunner& runner) {
  SmallestFailure result{std::move(failing), std::move(first)};
  VectorCase smallest = shrink(result.vectorCase, [&](const VectorCase& candidate) {
    Verdict verdict = runner.check(candidate);
    if (verdict.kind != Verdict::Kind::FAILED) return false;
    result.verdict = std::move(verdict);
    return true;
  });
  result.vectorCase = std::move(smallest);
  return result;
}

size_t operationCount(const VectorCase& vectorCase) {
  size_t count = vectorCase.model.main.operations.size();
  for (const Subgraph& subgraph : vectorCase.model.referenced) count += subgraph.operations.size();
  return count;
}

}  // namespace halyard::random_graphs
