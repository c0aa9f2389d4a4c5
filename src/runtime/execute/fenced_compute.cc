// Executions that depend on events, and on fences.
#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "model/shape_agreement.h"
#include "runtime/execute/execution.h"
#include "runtime/run/plan_fenced.h"

namespace halyard::runtime {
namespace {

std::chrono::nanoseconds durationOf(uint64_t nanoseconds) {
  constexpr uint64_t kLongest = std::numeric_limits<int64_t>::max();
  return std::chrono::nanoseconds(static_cast<int64_t>(std::min(nanoseconds, kLongest)));
}

}  // namespace

Result<std::unique_ptr<Event>> Execution::startComputeWithDependencies(
    std::span<Event* const> dependencies, uint64_t duration) {
  std::vector<int> waitFor;
  for (size_t i = 0; i < dependencies.size(); ++i) {
    if (dependencies[i]->fence() >= 0) {
      waitFor.push_back(dependencies[i]->fence());
      continue;
    }
    const Status status = dependencies[i]->wait();
    if (!status.ok()) return opFailed("dependency {} has failed: {}", i, status.toString());
  }
  // Verification reads and writes the arguments here, after the fences have ended.
  Shadow* const shadow = compilation_.shadow();
  const bool verifies = shadow != nullptr && shadow->isTurn();
  if (verifies || !canChain(compilation_.runner(), request(), memories_)) {
    const Status status = waitForFences(waitFor);
    if (!status.ok()) {
      return status.code() == ResultCode::BAD_DATA ? status
                                                   : opFailed("a dependency: {}", status.message());
    }
    HALYARD_RETURN_IF_ERROR(begin(ExecutionMode::ASYNC_WITH_DEPENDENCIES));
    HALYARD_RETURN_IF_ERROR(checkFencedArguments(duration));
    verifies_ = verifies;
    return startBegun();
  }
  HALYARD_RETURN_IF_ERROR(begin(ExecutionMode::ASYNC_WITH_DEPENDENCIES));
  HALYARD_RETURN_IF_ERROR(checkFencedArguments(duration));
  return startFenced(waitFor, duration);
}

Status Execution::checkFencedArguments(uint64_t duration) {
  if (duration > 0 && !compilation_.hasSingleExplicitDevice()) {
    return abandon(badData("a duration needs a compilation created for exactly one device"));
  }
  const Subgraph& main = compilation_.model().main;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const hal::RequestArgument& argument = outputs_[i].request;
    const Operand& operand = main.operands[main.outputIndexes[i]];
    if (argument.kind == hal::RequestArgument::Kind::NO_VALUE ||
        compilation_.extensions().isScalar(operand.type)) {
      continue;
    }
    const Shape shape = completeShape(argument.dimensions, operand.dimensions);
    if (!knownElementCount(shape)) {
      return abandon(badData("output {} has dimensions {}; with dependencies all must be known", i,
                             shapeText(shape)));
    }
  }
  return okStatus();
}

Result<std::unique_ptr<Event>> Execution::startFenced(const std::vector<int>& waitFor,
                                                      uint64_t duration) {
  std::optional<std::chrono::nanoseconds> bound;
  if (duration > 0) bound = durationOf(duration);
  PlanRunner& runner = compilation_.runner();
  hal::FencedResult result =
      startFencedPlan(runner, request(), memories_, waitFor, options(), bound);
  if (!result.status.ok()) return startedInVain(std::move(result.status), waitFor);
  // These duplicates tell after a failure whether the dependencies had succeeded.
  std::vector<UniqueFd> dependencies;
  if (runner.recovery().mayRecover()) {
    for (const int fence : waitFor) dependencies.emplace_back(::fcntl(fence, F_DUPFD_CLOEXEC, 0));
  }
  return Event::fenced(
      std::move(result.fence),
      [this, execution = std::move(result.execution),
       dependencies = std::make_shared<std::vector<UniqueFd>>(std::move(dependencies))](
          FenceState state) { return finishFenced(state, *execution, *dependencies); });
}

// Called when the devices have refused the execution. It is computed at once here, if other devices
// may do it.
Result<std::unique_ptr<Event>> Execution::startedInVain(Status status,
                                                        std::span<const int> waitFor) {
  hal::ExecutionResult result;
  if (compilation_.runner().recovery().mayRecover() && !isFinal(status) &&
      waitForFences(waitFor).ok()) {
    result = runAgain(status);
  } else {
    result.status = std::move(status);
  }
  const Status done = finish(std::move(result));
  if (!done.ok()) return done;
  return Event::fenced({}, [](FenceState) { return okStatus(); });
}

hal::ExecutionResult Execution::runAgain(const Status& cause) {
  StepRecovery& recovery = compilation_.runner().recovery();
  recovery.tellFencedFailure(cause);
  hal::ExecutionResult result = runPlan(nullptr);
  if (result.status.ok()) recovery.tellFencedRetry(cause);
  return result;
}

Status Execution::finishFenced(FenceState state, hal::FencedExecution& execution,
                               std::span<const UniqueFd> dependencies) {
  const bool signalled = state == FenceState::SIGNALLED;
  hal::FencedInfo info;
  if (!signalled || measureTiming_) info = execution.getExecutionInfo();
  hal::ExecutionResult result;
  if (!signalled) {
    result.status =
        info.status.ok() ? opFailed("its sync fence went into the error state") : info.status;
    if (compilation_.runner().plan().simple) {
      result.status.annotate(fmt::format("device {}", compilation_.device().name()));
    }
    const bool ready = std::ranges::all_of(dependencies, [](const UniqueFd& fence) {
      const Result<FenceState> dependency = fenceState(fence.get());
      return dependency.ok() && *dependency == FenceState::SIGNALLED;
    });
    if (compilation_.runner().recovery().mayRecover() && !isFinal(result.status) && ready) {
      result = runAgain(result.status);
      info = {};
    }
  }
  result.timing = info.launched;
  Status status = finish(std::move(result));
  const std::lock_guard lock(mutex_);
  if (status.ok()) fencedTiming_ = info.fenced;
  timingKnown_ = info.status.ok();
  return status;
}

}  // namespace halyard::runtime
