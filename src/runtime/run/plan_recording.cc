#include "runtime/run/plan_recording.h"

#include "runtime/run/plan_runner.h"

namespace halyard::runtime {

Status PlanRecording::record(const std::shared_ptr<hal::PreparedModel>& prepared, PlanBurst* burst,
                             const hal::Request& request) {
  execution_.reset();
  prepared_ = prepared;
  burst_ = burst == nullptr ? 0 : burst->id();
  hal::Burst* const own = burst == nullptr ? nullptr : burst->of(0, prepared);
  auto execution = own != nullptr ? own->createReusableExecution(request)
                                  : prepared->createReusableExecution(request);
  HALYARD_ASSIGN_OR_RETURN(execution_, std::move(execution));
  return okStatus();
}

hal::ExecutionResult PlanRecording::compute(const std::shared_ptr<hal::PreparedModel>& prepared,
                                            PlanBurst* burst, const hal::Request& request,
                                            const hal::ExecuteOptions& options) {
  const uint64_t id = burst == nullptr ? 0 : burst->id();
  if (execution_ == nullptr || prepared_ != prepared || burst_ != id) {
    Status recorded = record(prepared, burst, request);
    if (!recorded.ok()) return {std::move(recorded), {}, {}};
  }
  return execution_->compute(options);
}

}  // namespace halyard::runtime
