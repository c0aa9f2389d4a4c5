// Runs a case and judges the result.
#include "conformance/runner.h"

#include <algorithm>
#include <system_error>
#include <thread>

#include "model/validation/validation.h"

namespace halyard::conformance {
namespace {

using namespace std::chrono_literals;

// An endless loop must end soon. A short run of a finite loop is not affected.
constexpr std::chrono::nanoseconds kLoopTimeoutOfFailures = 300ms;

CaseResult failed(std::string reason) { return {Outcome::FAILED, std::move(reason)}; }

// Returns whether the error says nothing about the model.
bool isRefusal(ResultCode code) {
  switch (code) {
    case ResultCode::NO_ERROR:
    case ResultCode::OUT_OF_MEMORY:
    case ResultCode::INCOMPLETE:
    case ResultCode::UNAVAILABLE_DEVICE:
    case ResultCode::RESOURCE_EXHAUSTED_TRANSIENT:
    case ResultCode::RESOURCE_EXHAUSTED_PERSISTENT:
    case ResultCode::DEAD_OBJECT:
      return false;
    default:
      return true;
  }
}

CaseResult judgeError(const VectorCase& vectorCase, std::string_view what, const Status& status) {
  if (vectorCase.expectFailure && isRefusal(status.code())) return {};
  return failed(fmt::format("{}: {}{}", what, status.toString(),
                            vectorCase.expectFailure ? " (which is no refusal of the model)" : ""));
}

// Returns the sizes of the output buffers in bytes.
std::vector<size_t> capacitiesOf(const VectorCase& vectorCase) {
  const Subgraph& main = vectorCase.model.main;
  std::vector<size_t> capacities;
  for (size_t i = 0; i < vectorCase.outputs.size(); ++i) {
    const Operand& operand = main.operands[main.outputIndexes[i]];
    const std::optional<uint32_t> known = knownByteSize(operand.type, operand.dimensions);
    capacities.push_back(std::max<size_t>(1, known.value_or(vectorCase.outputs[i].bytes.size())));
  }
  return capacities;
}

class CaseRun {
 public:
  CaseRun(const VectorCase& vectorCase, const VariantTraits& traits)
      : case_(vectorCase), traits_(traits), capacities_(capacitiesOf(vectorCase)) {}

  CaseResult run(Target& target) {
    const auto model = std::make_shared<const Model>(case_.model);
    const auto built = target.build(model);
    if (!built.ok()) return judgeError(case_, "model", built.status());
    if (!case_.expectFailure) {
      const auto unsupported = (*built)->unsupported();
      if (!unsupported.ok()) return judgeError(case_, "support", unsupported.status());
      if (unsupported->has_value()) {
        return {Outcome::SKIPPED,
                fmt::format("device {} does not support {}", target.device(), **unsupported)};
      }
    }
    std::vector<std::unique_ptr<CompiledModel>> compiled;
    for (unsigned i = 0; i < traits_.compilations; ++i) {
      auto one = (*built)->compile();
      if (!one.ok()) return judgeError(case_, nameOf("compilation", i), one.status());
      compiled.push_back(std::move(one).value());
    }
    // All first executions run before any second one, so that one compilation could disturb the
    // results of another.
    for (unsigned n = 0; n < traits_.executions; ++n) {
      for (const auto& one : compiled) {
        const CaseResult result = runThreads(*one);
        if (result.outcome != Outcome::PASSED) return result;
      }
    }
    return {};
  }

 private:
  std::string nameOf(std::string_view what, unsigned index) const {
    return traits_.compilations == 1 ? std::string(what) : fmt::format("{} {}", what, index);
  }

  CaseResult runThreads(CompiledModel& compiled) const {
    if (traits_.threads == 1) return execute(compiled);
    std::vector<CaseResult> results(traits_.threads);
    std::vector<std::thread> threads;
    threads.reserve(results.size());
    // std::thread reports a lack of threads only by an exception.
    try {
      for (CaseResult& result : results) {
        threads.emplace_back([this, &compiled, &result] { result = execute(compiled); });
      }
    } catch (const std::system_error& error) {
      results.back() = failed(fmt::format("it cannot be started: {}", error.what()));
    }
    for (std::thread& thread : threads) thread.join();
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i].outcome == Outcome::PASSED) continue;
      results[i].reason.insert(0, fmt::format("thread {}: ", i));
      return results[i];
    }
    return {};
  }

  CaseResult execute(CompiledModel& compiled) const {
    ExecutionRequest request{case_, capacities_, traits_.pools, traits_.launch, std::nullopt};
    if (case_.expectFailure) {
      request.loopTimeout = kLoopTimeoutOfFailures;
      const Status status = compiled.execute(request).status;
      if (status.ok()) return failed("ran without an error, and has to be refused");
      return judgeError(case_, "execution", status);
    }
    if (traits_.outputShapes != OutputShapes::KNOWN) {
      if (const Status status = executeWithTooLittle(compiled); !status.ok()) {
        return failed("execution with a first output buffer one byte too small: " +
                      status.message());
      }
    }
    const ExecutionOutcome outcome = compiled.execute(request);
    if (outcome.status.code() == ResultCode::BAD_DATA && traits_.launch == Launch::FENCED &&
        !outputsAreKnown()) {
      return {};  // as the API specifies
    }
    if (!outcome.status.ok()) return judgeError(case_, "execution", outcome.status);
    const Status compared = compare(case_, outcome.outputs);
    return compared.ok() ? CaseResult{} : failed(compared.message());
  }

  // Zero-sized outputs count as unknown, because a model states both in the same way.
  bool outputsAreKnown() const {
    const Subgraph& main = case_.model.main;
    return std::all_of(main.outputIndexes.begin(), main.outputIndexes.end(), [&](uint32_t index) {
      const Operand& operand = main.operands[index];
      return knownByteSize(operand.type, operand.dimensions).has_value();
    });
  }

  // A buffer of the first output can only be too small if the model leaves the size open.
  Status executeWithTooLittle(CompiledModel& compiled) const {
    if (capacities_.empty() || capacities_[0] < 2) return okStatus();
    const Operand& first = case_.model.main.operands[case_.model.main.outputIndexes[0]];
    if (knownByteSize(first.type, first.dimensions).has_value()) return okStatus();
    std::vector<size_t> capacities = capacities_;
    --capacities[0];
    const ExecutionOutcome outcome =
        compiled.execute({case_, capacities, traits_.pools, traits_.launch, std::nullopt});
    if (outcome.status.code() != ResultCode::OUTPUT_INSUFFICIENT_SIZE) {
      return opFailed("{}, expected OUTPUT_INSUFFICIENT_SIZE", outcome.status.toString());
    }
    for (size_t i = 0; i < case_.outputs.size(); ++i) {
      const Shape& actual = outcome.outputs[i].dims;
      if (actual != case_.outputs[i].dims) {
        return opFailed("output {} is said to be [{}], expected [{}]", i, fmt::join(actual, ","),
                        fmt::join(case_.outputs[i].dims, ","));
      }
      if (outcome.sufficient[i] != (i != 0)) {
        return opFailed("the buffer of output {} is said to be {}", i,
                        outcome.sufficient[i] ? "sufficient" : "too small");
      }
    }
    return okStatus();
  }

  const VectorCase& case_;
  const VariantTraits& traits_;
  const std::vector<size_t> capacities_;
};

}  // namespace

std::string_view outcomeName(Outcome outcome) {
  switch (outcome) {
    case Outcome::PASSED:
      return "passed";
    case Outcome::FAILED:
      return "failed";
    case Outcome::SKIPPED:
      return "skipped";
  }
  return "";
}

CaseResult runCase(Target& target, const VectorCase& vectorCase, Variant variant) {
  const Result<VectorCase> changed = applyVariant(vectorCase, variant);
  if (!changed.ok()) return failed("variant: " + changed.status().toString());
  const int64_t before = target.processId();
  CaseResult result = CaseRun(*changed, traitsOf(variant)).run(target);
  const int64_t after = target.processId();
  // This check also applies if the interface's error did not tell, and after a supposed refusal.
  if (before != 0 && before != after) {
    const std::string reason =
        result.reason.empty() ? std::string(outcomeName(result.outcome)) : result.reason;
    return failed(fmt::format("the driver's process {} ended: {}", before, reason));
  }
  return result;
}

std::optional<std::string> firstUnsupported(const Model& model, const std::vector<bool>& supported,
                                            int64_t deviceLevel) {
  const auto it = std::find(supported.begin(), supported.end(), false);
  if (it == supported.end()) return std::nullopt;
  const auto index = static_cast<size_t>(it - supported.begin());
  const Operation& operation = model.main.operations[index];
  std::string text = fmt::format("operation {}, {}: ", index, operationTypeName(operation.type));
  const auto level = requiredFeatureLevel(model, model.main, index);
  if (level.ok() && deviceLevel != 0 && apiFeatureLevel(*level) > deviceLevel) {
    return text + fmt::format("needs {}", featureLevelName(*level));
  }
  // Scalars are parameters. Only the tensors distinguish the cases.
  std::string previous;
  for (const uint32_t input : operation.inputs) {
    const Operand& operand = model.main.operands[input];
    if (isScalarType(operand.type) || operand.lifetime == Lifetime::NO_VALUE) continue;
    std::string one =
        fmt::format("{} rank {}", operandTypeName(operand.type), operand.dimensions.size());
    if (one == previous) continue;
    text += (previous.empty() ? "" : ", ") + one;
    previous = std::move(one);
  }
  return text;
}

}  // namespace halyard::conformance
