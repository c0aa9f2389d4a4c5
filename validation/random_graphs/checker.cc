#include "validation/random_graphs/checker.h"

#include <algorithm>

#include "accuracy/accuracy.h"

namespace halyard::random_graphs {
namespace {

using conformance::ActualOutput;
using conformance::CompiledModel;
using conformance::ExecutionOutcome;
using conformance::VectorCase;

std::vector<size_t> capacitiesOf(const VectorCase& vectorCase) {
  std::vector<size_t> capacities;
  for (const auto& output : vectorCase.outputs) {
    capacities.push_back(std::max<size_t>(1, output.bytes.size()));
  }
  return capacities;
}

// The compiled model needs the built model.
struct Compiled {
  std::unique_ptr<conformance::BuiltModel> built;
  std::unique_ptr<CompiledModel> model;
};

Result<Compiled> compile(conformance::Target& target, const VectorCase& vectorCase) {
  Compiled result;
  HALYARD_ASSIGN_OR_RETURN(result.built,
                           target.build(std::make_shared<const Model>(vectorCase.model)), "model");
  HALYARD_ASSIGN_OR_RETURN(result.model, result.built->compile(), "compilation");
  return result;
}

Result<std::vector<ActualOutput>> execute(CompiledModel& compiled, const VectorCase& vectorCase,
                                          bool inPools) {
  const std::vector<size_t> capacities = capacitiesOf(vectorCase);
  ExecutionOutcome outcome = compiled.execute(
      {vectorCase, capacities, inPools, conformance::Launch::COMPUTE, std::nullopt});
  if (!outcome.status.ok()) return std::move(outcome.status.annotate("execution"));
  return std::move(outcome.outputs);
}

// Compares the results with those of the CPU device.
Status compare(const VectorCase& vectorCase, accuracy::Scope scope,
               const std::vector<ActualOutput>& expected, const std::vector<ActualOutput>& actual) {
  const Subgraph& main = vectorCase.model.main;
  for (size_t i = 0; i < expected.size(); ++i) {
    const OperandType type = main.operands[main.outputIndexes[i]].type;
    if (i >= actual.size()) return opFailed("output {} is missing", i);
    if (actual[i].dims != expected[i].dims) {
      return opFailed("output {} has dimensions {}, expected {}", i, shapeText(actual[i].dims),
                      shapeText(expected[i].dims));
    }
    if (vectorCase.outputs[i].ignored) continue;
    accuracy::Criteria criteria = accuracy::criteriaFor(type, scope, vectorCase.relaxed);
    if (scope > accuracy::Scope::SUMS) criteria.largest = accuracy::kLargestOfRandomGraphs;
    const accuracy::Comparison comparison =
        accuracy::compareValues(type, criteria, expected[i].bytes, actual[i].bytes);
    if (!comparison.failed) continue;
    return opFailed("output {}, {}{}, by the criteria for {}: {}", i, operandTypeName(type),
                    shapeText(actual[i].dims), accuracy::scopeName(scope), comparison.text);
  }
  return okStatus();
}

}  // namespace

Result<std::vector<ActualOutput>> resultsOf(conformance::Target& target,
                                            const VectorCase& vectorCase) {
  HALYARD_ASSIGN_OR_RETURN(const std::vector<bool> supported,
                           supportedOperations(target, vectorCase));
  const auto first = std::ranges::find(supported, false);
  if (first != supported.end()) {
    const auto index = static_cast<size_t>(first - supported.begin());
    return badData("the device does not take {}",
                   operationText(index, vectorCase.model.main.operations[index].type));
  }
  auto compiled = compile(target, vectorCase);
  if (!compiled.ok()) return compiled.takeStatus().withCode(ResultCode::OP_FAILED);
  auto results = execute(*compiled->model, vectorCase, false);
  if (!results.ok()) return results.takeStatus().withCode(ResultCode::OP_FAILED);
  return results;
}

Result<std::vector<bool>> supportedOperations(conformance::Target& target,
                                              const VectorCase& vectorCase) {
  HALYARD_ASSIGN_OR_RETURN(const auto built,
                           target.build(std::make_shared<const Model>(vectorCase.model)));
  return built->supportedOperations();
}

Verdict checkGraph(conformance::Target& tested, conformance::Target& reference,
                   const VectorCase& vectorCase) {
  using enum Verdict::Kind;
  const auto broken = [](const Status& status) { return Verdict{BROKEN, status.message()}; };
  const auto cpu = compile(reference, vectorCase);
  if (!cpu.ok()) return broken(cpu.status());
  const auto expected = execute(*cpu->model, vectorCase, false);
  if (!expected.ok()) return broken(expected.status());
  const accuracy::Scope scope = accuracy::scopeOf(vectorCase.model);
  std::vector<ActualOutput> own;
  for (const auto& output : vectorCase.outputs) own.push_back({output.bytes, output.dims});
  if (const Status agree = compare(vectorCase, scope, own, *expected); !agree.ok()) {
    return {BROKEN, "the CPU device differs from its kernels: " + agree.message()};
  }

  const auto supported = supportedOperations(tested, vectorCase);
  if (!supported.ok()) return {FAILED, "support: " + supported.status().toString()};
  if (std::ranges::find(*supported, false) != supported->end()) return {UNSUPPORTED, ""};
  const int64_t before = tested.processId();
  const auto failed = [&](std::string reason) {
    const int64_t after = tested.processId();
    if (before != 0 && before != after) {
      reason = fmt::format("the driver's process {} ended: {}", before, reason);
    }
    return Verdict{FAILED, std::move(reason)};
  };
  const auto compiled = compile(tested, vectorCase);
  if (!compiled.ok()) return failed(compiled.status().toString());
  for (const bool inPools : {false, true}) {
    const auto actual = execute(*compiled->model, vectorCase, inPools);
    if (!actual.ok()) return failed(actual.status().toString());
    const Status same = compare(vectorCase, scope, *expected, *actual);
    if (!same.ok()) {
      return failed(fmt::format("{}{}", same.message(),
                                inPools ? " (the second execution, arguments in memory)" : ""));
    }
  }
  if (before != 0 && tested.processId() != before) return failed("after the executions");
  return {};
}

}  // namespace halyard::random_graphs
