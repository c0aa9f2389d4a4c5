// Executions that depend on events, and on fences.
#include <chrono>
#include <limits>

#include "runtime/execution.h"

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
  HALYARD_RETURN_IF_ERROR(begin());
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
    const Shape shape = knownShape(operand.dimensions, argument.dimensions);
    if (!knownElementCount(shape)) {
      return abandon(badData("output {} has dimensions {}; with dependencies all must be known", i,
                             shapeText(shape)));
    }
  }
  return startFenced(waitFor, duration);
}

Result<std::unique_ptr<Event>> Execution::startFenced(const std::vector<int>& waitFor,
                                                      uint64_t duration) {
  std::optional<std::chrono::nanoseconds> bound;
  if (duration > 0) bound = durationOf(duration);
  hal::FencedResult result =
      compilation_.preparedModel().executeFenced(request(), waitFor, options(), bound);
  if (!result.status.ok()) {
    hal::ExecutionResult failed;
    failed.status = std::move(result.status);
    return finish(std::move(failed));
  }
  if (result.execution == nullptr) {
    return abandon(
        opFailed("device {} reports success without an execution", compilation_.device().name()));
  }
  return Event::fenced(std::move(result.fence),
                       [this, execution = std::move(result.execution)](FenceState state) {
                         return finishFenced(state, *execution);
                       });
}

Status Execution::finishFenced(FenceState state, hal::FencedExecution& execution) {
  const bool signalled = state == FenceState::SIGNALLED;
  hal::FencedInfo info;
  if (!signalled || measureTiming_) info = execution.getExecutionInfo();
  hal::ExecutionResult result;
  if (!signalled) {
    result.status =
        info.status.ok() ? opFailed("its sync fence went into the error state") : info.status;
  }
  result.timing = info.launched;
  Status status = finish(std::move(result));
  const std::lock_guard lock(mutex_);
  if (status.ok()) fencedTiming_ = info.fenced;
  timingKnown_ = info.status.ok();
  return status;
}

}  // namespace halyard::runtime
