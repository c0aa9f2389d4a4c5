#include "runtime/run/plan_recording.h"

#include <algorithm>

#include "runtime/run/plan_runner.h"

namespace halyard::runtime {
namespace {

// Concurrent runs alternate between a few memories. A request that changes more often than this
// depends on the data. Recording it has no benefit.
constexpr unsigned kMostChanges = 8;

}  // namespace

bool PlanRecording::isRecorded(const Step& own, const std::shared_ptr<hal::PreparedModel>& prepared,
                               const PlanBurst* burst) {
  return own.execution != nullptr && own.prepared == prepared &&
         own.burst == (burst == nullptr ? 0 : burst->id());
}

Status PlanRecording::record(Step& own, size_t step,
                             const std::shared_ptr<hal::PreparedModel>& prepared, PlanBurst* burst,
                             const hal::Request& request) {
  own.execution.reset();
  own.prepared = prepared;
  own.burst = burst == nullptr ? 0 : burst->id();
  hal::Burst* const series = burst == nullptr ? nullptr : burst->of(step, prepared);
  auto execution = series != nullptr ? series->createReusableExecution(request)
                                     : prepared->createReusableExecution(request);
  HALYARD_ASSIGN_OR_RETURN(own.execution, std::move(execution));
  return okStatus();
}

hal::ExecutionResult PlanRecording::compute(const std::shared_ptr<hal::PreparedModel>& prepared,
                                            PlanBurst* burst, const hal::Request& request,
                                            const hal::ExecuteOptions& options) {
  Step& own = steps_[0];
  if (!isRecorded(own, prepared, burst)) {
    Status recorded = record(own, 0, prepared, burst, request);
    if (!recorded.ok()) return {std::move(recorded), {}, {}};
  }
  return withShapes(own.execution->compute(options));
}

hal::ExecutionResult PlanRecording::computeStep(size_t step,
                                                const std::shared_ptr<hal::PreparedModel>& prepared,
                                                PlanBurst* burst, const hal::Request& request,
                                                const hal::ExecuteOptions& options) {
  Step& own = steps_[step];
  bool isNew = !isRecorded(own, prepared, burst);
  if (!isNew && own.request != request) {
    ++own.changes;
    isNew = true;
  }
  if (own.changes > kMostChanges) {
    own.execution.reset();
    own.request = {};
    hal::Burst* const series = burst == nullptr ? nullptr : burst->of(step, prepared);
    return executeOn(*prepared, series, request, options);
  }
  if (isNew) {
    own.execution.reset();
    own.request = request;
    Status recorded = record(own, step, prepared, burst, own.request);
    if (!recorded.ok()) return {std::move(recorded), {}, {}};
  }
  return withShapes(own.execution->compute(options));
}

}  // namespace halyard::runtime
