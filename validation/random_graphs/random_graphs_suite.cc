#include "validation/random_graphs/random_graphs_suite.h"

#include <unistd.h>

#include <memory>

#include "conformance/hal_target.h"
#include "cpu/cpu_device.h"
#include "hal/session/client_session.h"
#include "hal/session/session_services.h"
#include "validation/kit/target.h"
#include "validation/random_graphs/session.h"

namespace halyard::validation {
namespace {

using random_graphs::Choice;
using random_graphs::Verdict;

constexpr uint64_t kSeedsOfCheck = 10;
constexpr size_t kMostOperations = 60;
constexpr double kSecondsPerGraph = 0.02;

// The objects that the checks of a process share. They are made again with the device.
struct Kept {
  explicit Kept(std::shared_ptr<hal::Device> opened)
      : device(std::move(opened)), tested(conformance::makeHalTarget(device)) {}

  const std::shared_ptr<hal::Device> device;
  const std::unique_ptr<conformance::Target> tested;
  const std::unique_ptr<conformance::Target> reference =
      conformance::makeHalTarget(hal::ClientSession::ofRuntime(
          cpu::makeCpuDevice(cpu::cpuDeviceInfo(), 1), std::make_shared<hal::SessionServices>()));
  random_graphs::TargetRunner runner{*tested, *reference};
  std::vector<Choice> choices;
};

Result<std::shared_ptr<Kept>> keptFor(Target& target) {
  HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<hal::Device> device, target.device());
  std::shared_ptr<void>& slot = target.kept("random-graphs");
  auto kept = std::static_pointer_cast<Kept>(slot);
  if (kept != nullptr && kept->device == device) return kept;
  kept = std::make_shared<Kept>(std::move(device));
  HALYARD_ASSIGN_OR_RETURN(
      kept->choices, random_graphs::supportedChoices(kept->runner, random_graphs::allChoices()));
  slot = kept;
  return kept;
}

// The report on a failing graph: its smallest failing part, and a command that writes it.
Status failure(Kept& kept, uint64_t seed, size_t operations, conformance::VectorCase graph,
               Verdict verdict) {
  if (verdict.kind == Verdict::Kind::BROKEN) {
    return opFailed("seed {}, which is no fault of the driver: {}", seed, verdict.reason);
  }
  const auto smallest =
      random_graphs::findSmallest(std::move(graph), std::move(verdict), kept.runner);
  std::vector<std::string> names;
  for (const Operation& operation : smallest.vectorCase.model.main.operations) {
    names.push_back(operationTypeName(operation.type));
  }
  return opFailed(
      "seed {}, as small as it gets ({}): {}\n`halyard random-graphs --seed {} --count 1 "
      "--operations {}` writes it down",
      seed, fmt::join(names, ", "), smallest.verdict.reason, seed, operations);
}

// Checks the graphs of some seeds. Skipped when the driver supports no operation of any graph.
CheckResult runSeeds(Kept& kept, const std::vector<Choice>& choices, uint64_t first, uint64_t count,
                     size_t operations) {
  size_t ran = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    // If the check crashes or hangs, this is the last line of its log.
    const std::string mark = fmt::format("seed {}, at most {} operations\n", seed, operations);
    (void)!::write(STDERR_FILENO, mark.data(), mark.size());
    auto graph = random_graphs::graphFor({seed, operations, choices}, kept.runner);
    HALYARD_RETURN_IF_ERROR(graph.status());
    if (!graph->has_value()) continue;
    ++ran;
    Verdict verdict = kept.runner.check(**graph);
    if (verdict.kind == Verdict::Kind::PASSED) continue;
    return failure(kept, seed, operations, std::move(**graph), std::move(verdict));
  }
  if (ran == 0) return CheckResult::skipped("the driver takes no operation of the graphs");
  return CheckResult::passed();
}

CheckResult runOperation(Target& target, OperationType type, uint64_t first, uint64_t perChoice) {
  HALYARD_ASSIGN_OR_RETURN(const std::shared_ptr<Kept> kept, keptFor(target));
  bool ran = false;
  for (const Choice& choice : kept->choices) {
    if (choice.definition->type != type) continue;
    CheckResult result = runSeeds(*kept, {choice}, first, perChoice, 1);
    if (isBad(result.outcome)) return result;
    ran = ran || result.outcome == Outcome::PASSED;
  }
  if (!ran) return CheckResult::skipped("the driver does not take the operation");
  return CheckResult::passed();
}

Check operationCheck(const ops::OperationDefinition& definition, size_t variants,
                     const Plan& plan) {
  const uint64_t perChoice = plan.full ? 20 : 3;
  Check check;
  const std::string name = operationTypeName(definition.type);
  check.name = "operation/" + name;
  check.what = fmt::format("{} of random operands gives what the CPU device gives", name);
  check.requirements = {"ND-041", "ND-052"};
  check.expectedSeconds = 0.002 * static_cast<double>(variants * perChoice);
  check.run = [type = definition.type, seed = plan.seed, perChoice](Target& target) {
    return runOperation(target, type, seed, perChoice);
  };
  return check;
}

Check graphsCheck(uint64_t first) {
  Check check;
  check.name = fmt::format("graphs/{}-{}", first, first + kSeedsOfCheck - 1);
  check.what =
      fmt::format("the random graphs of {} seeds give what the CPU device gives", kSeedsOfCheck);
  check.requirements = {"ND-041", "ND-052"};
  check.limit = std::chrono::seconds(120);
  check.expectedSeconds = kSecondsPerGraph * static_cast<double>(kSeedsOfCheck);
  check.run = [first](Target& target) -> CheckResult {
    HALYARD_ASSIGN_OR_RETURN(const std::shared_ptr<Kept> kept, keptFor(target));
    if (kept->choices.empty()) return CheckResult::skipped("the driver takes no operation");
    return runSeeds(*kept, kept->choices, first, kSeedsOfCheck, kMostOperations);
  };
  return check;
}

}  // namespace

Result<std::vector<Check>> listRandomGraphs(const TargetSpec& /*target*/, const Plan& plan) {
  std::vector<Check> checks;
  const std::vector<Choice> choices = random_graphs::allChoices();
  for (size_t i = 0; i < choices.size();) {
    const ops::OperationDefinition& definition = *choices[i].definition;
    size_t end = i;
    while (end < choices.size() && choices[end].definition == &definition) ++end;
    // IF and WHILE are tested in graphs only.
    if (definition.controlFlow == ops::ControlFlow::NONE) {
      checks.push_back(operationCheck(definition, end - i, plan));
    }
    i = end;
  }
  const uint64_t graphs = plan.full ? 2000 : 200;
  for (uint64_t n = 0; n < graphs; n += kSeedsOfCheck) checks.push_back(graphsCheck(plan.seed + n));
  return checks;
}

}  // namespace halyard::validation
