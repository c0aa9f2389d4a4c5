#include "validation/random_graphs/bisect.h"

#include <algorithm>

#include "validation/random_graphs/interpreter.h"
#include "validation/random_graphs/session.h"
#include "validation/random_graphs/surgery.h"

namespace halyard::random_graphs {
namespace {

using accuracy::Comparison;
using accuracy::Scope;
using conformance::ActualOutput;
using conformance::VectorCase;

// With more bytes, each operation's results come from a model of their own.
constexpr size_t kMostOutputBytes = size_t{1} << 30;

// The case with other outputs: operands of the main subgraph that operations compute.
VectorCase withOutputs(const VectorCase& from, std::span<const uint32_t> outputs,
                       const std::vector<TestOperand>& values) {
  VectorCase result = from;
  Subgraph& main = result.model.main;
  for (Operand& operand : main.operands) {
    if (operand.lifetime == Lifetime::SUBGRAPH_OUTPUT) {
      operand.lifetime = Lifetime::TEMPORARY_VARIABLE;
    }
  }
  main.outputIndexes.assign(outputs.begin(), outputs.end());
  result.outputs.clear();
  for (const uint32_t index : outputs) {
    main.operands[index].lifetime = Lifetime::SUBGRAPH_OUTPUT;
    result.outputs.push_back({values[index].bytes, values[index].tensor.dims, false});
  }
  return result;
}

// The worst of some outputs. It has failed if one of them has failed.
Comparison worst(const std::vector<Comparison>& comparisons) {
  Comparison result = comparisons[0];
  for (const Comparison& each : comparisons) {
    const bool isWorse =
        each.failed != result.failed ? each.failed : each.largestAbsolute > result.largestAbsolute;
    if (isWorse) result = each;
  }
  return result;
}

class Bisecting {
 public:
  Bisecting(conformance::Target& tested, conformance::Target& reference, VectorCase vectorCase)
      : tested_(tested), reference_(reference), case_(std::move(vectorCase)) {}

  Result<Bisection> run() {
    HALYARD_ASSIGN_OR_RETURN(values_, valuesOf(case_), "on the CPU device");
    if (accuracy::isNondeterministic(case_.model)) {
      return badData("the model draws numbers at random: there is nothing to compare with");
    }
    const Subgraph& main = case_.model.main;
    for (size_t i = 0; i < main.operations.size(); ++i) {
      findings_.operations.push_back({i, main.operations[i].type, {}, {}, ""});
    }
    compareModel();
    if (isWhole_) compareAccumulated();
    compareOwn();
    conclude();
    return std::move(findings_);
  }

 private:
  const Operation& operation(size_t i) const { return case_.model.main.operations[i]; }

  Comparison compared(uint32_t operand, Scope scope, const ActualOutput& actual) const {
    const TestOperand& expected = values_[operand];
    if (actual.dims != expected.tensor.dims) {
      Comparison wrong;
      wrong.failed = true;
      wrong.text = fmt::format("dimensions are {}, expected {}", shapeText(actual.dims),
                               shapeText(expected.tensor.dims));
      return wrong;
    }
    const OperandType type = expected.tensor.type;
    const auto criteria = accuracy::criteriaFor(type, scope, case_.relaxed);
    return accuracy::compareValues(type, criteria, expected.bytes, actual.bytes);
  }

  // Compares the results of the unchanged model.
  void compareModel() {
    const VectorCase whole = withOutputs(case_, case_.model.main.outputIndexes, values_);
    const auto results = resultsOf(tested_, whole);
    if (!results.ok()) {
      findings_.difference = results.status().toString();
      isWhole_ = results.status().code() != ResultCode::BAD_DATA;
      findings_.modelDiffers = isWhole_;
      return;
    }
    isWhole_ = true;
    const Scope scope = accuracy::scopeOf(case_.model);
    for (size_t i = 0; i < results->size(); ++i) {
      const Comparison comparison =
          compared(whole.model.main.outputIndexes[i], scope, (*results)[i]);
      if (!comparison.failed) continue;
      findings_.modelDiffers = true;
      findings_.difference = fmt::format("output {}: {}", i, comparison.text);
      return;
    }
  }

  // The scope of the first `count` operations.
  Scope scopeOfFirst(size_t count) const {
    if (count == 1) {
      Model one;
      one.main.operations = {operation(0)};
      return accuracy::scopeOf(one);
    }
    return count <= accuracy::kSmallGraph ? Scope::SMALL_GRAPH : Scope::LARGE_GRAPH;
  }

  void compareAccumulated() {
    std::vector<uint32_t> all;
    size_t bytes = 0;
    for (const Operation& each : case_.model.main.operations) {
      all.insert(all.end(), each.outputs.begin(), each.outputs.end());
      for (const uint32_t output : each.outputs) bytes += values_[output].bytes.size();
    }
    const auto results = bytes > kMostOutputBytes
                             ? Result<std::vector<ActualOutput>>(opFailed("too much"))
                             : resultsOf(tested_, withOutputs(case_, all, values_));
    bool diverges = false;
    if (results.ok()) {
      size_t next = 0;
      for (size_t i = 0; i < findings_.operations.size(); ++i) {
        std::vector<Comparison> comparisons;
        for (const uint32_t output : operation(i).outputs) {
          comparisons.push_back(compared(output, scopeOfFirst(i + 1), (*results)[next++]));
        }
        findings_.operations[i].accumulated = worst(comparisons);
        diverges = diverges || findings_.operations[i].diverges();
      }
    }
    // With intermediate results as outputs, the device may compute the model in another way.
    if (!results.ok() || (findings_.modelDiffers && !diverges)) comparePrefixes();
  }

  // Stops at the first operation whose results differ.
  void comparePrefixes() {
    findings_.usedPrefixes = true;
    const size_t count = findings_.operations.size();
    for (size_t i = 0; i < count; ++i) {
      std::vector<bool> keep(count);
      std::fill(keep.begin(), keep.begin() + static_cast<std::ptrdiff_t>(i) + 1, true);
      const auto prefix = cutOut(withOutputs(case_, operation(i).outputs, values_), values_, keep);
      if (!prefix.ok()) return;
      const auto results = resultsOf(tested_, *prefix);
      OperationFinding& finding = findings_.operations[i];
      if (!results.ok()) {
        finding.note = results.status().message();
        continue;
      }
      std::vector<Comparison> comparisons;
      // The results of the last operation are the last outputs of the prefix.
      const OperandIndexes& outputs = operation(i).outputs;
      for (size_t k = 0; k < outputs.size(); ++k) {
        comparisons.push_back(compared(outputs[k], scopeOfFirst(i + 1),
                                       (*results)[results->size() - outputs.size() + k]));
      }
      finding.accumulated = worst(comparisons);
      if (finding.diverges()) return;
    }
  }

  // Compares each operation alone, with the inputs that the CPU device computes for it.
  void compareOwn() {
    const size_t count = findings_.operations.size();
    for (size_t i = 0; i < count; ++i) {
      OperationFinding& finding = findings_.operations[i];
      std::vector<bool> keep(count);
      keep[i] = true;
      const auto alone = cutOut(case_, values_, keep);
      if (!alone.ok()) {
        finding.note = alone.status().message();
        continue;
      }
      const auto supported = supportedOperations(tested_, *alone);
      if (!supported.ok() || !(*supported)[0]) {
        finding.note =
            supported.ok() ? "the device does not take it" : supported.status().toString();
        continue;
      }
      const auto results = resultsOf(tested_, *alone);
      if (!results.ok()) {
        finding.note = results.status().toString();
        Comparison failed;
        failed.failed = true;
        failed.text = finding.note;
        finding.own = std::move(failed);
        continue;
      }
      const Scope scope = accuracy::scopeOf(alone->model);
      std::vector<Comparison> comparisons;
      for (size_t k = 0; k < results->size(); ++k) {
        comparisons.push_back(compared(operation(i).outputs[k], scope, (*results)[k]));
      }
      finding.own = worst(comparisons);
    }
  }

  void conclude() {
    for (const OperationFinding& finding : findings_.operations) {
      if (finding.isWrong() && !findings_.firstWrong) findings_.firstWrong = finding.index;
      if (finding.diverges() && !findings_.firstDiverging) {
        findings_.firstDiverging = finding.index;
      }
    }
    std::vector<bool> keep(findings_.operations.size(), true);
    if (findings_.firstWrong) {
      keep.assign(keep.size(), false);
      keep[*findings_.firstWrong] = true;
    } else if (!findings_.firstDiverging && !findings_.modelDiffers) {
      return;
    }
    auto failing = cutOut(case_, values_, keep);
    if (!failing.ok()) return;
    TargetRunner runner(tested_, reference_);
    Verdict verdict = runner.check(*failing);
    if (verdict.kind != Verdict::Kind::FAILED) {
      // Not made smaller: the criteria for the whole model may allow errors that those for its
      // first operations do not.
      findings_.smallest = std::move(*failing);
      findings_.smallestDifference = findings_.difference;
      return;
    }
    SmallestFailure smallest = findSmallest(std::move(*failing), std::move(verdict), runner);
    findings_.smallest = std::move(smallest.vectorCase);
    findings_.smallestDifference = std::move(smallest.verdict.reason);
  }

  conformance::Target& tested_;
  conformance::Target& reference_;
  const VectorCase case_;
  std::vector<TestOperand> values_;
  Bisection findings_;
  bool isWhole_ = false;  // the device computes the whole model
};

}  // namespace

Result<Bisection> bisect(conformance::Target& tested, conformance::Target& reference,
                         VectorCase vectorCase) {
  vectorCase.relaxed = vectorCase.model.relaxComputationFloat32toFloat16;
  return Bisecting(tested, reference, std::move(vectorCase)).run();
}

}  // namespace halyard::random_graphs
