// PlanRecording: an execution that is computed again and again, as the devices of its plan keep it.
// Thread safety: one thread at a time.
// Ownership: owns the devices' executions, shares their prepared models. The request of a simple
// plan must outlive it; those of steps are its own.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "halyard/driver/device.h"

namespace halyard::runtime {

class PlanBurst;

class PlanRecording {
 public:
  // Computes the request of a simple plan, which is the same object each time. It is recorded at
  // the first computation, and again when another prepared model, or another burst, computes it.
  // `burst` may be null.
  hal::ExecutionResult compute(const std::shared_ptr<hal::PreparedModel>& prepared,
                               PlanBurst* burst, const hal::Request& request,
                               const hal::ExecuteOptions& options);
  // The same for a step of a compound plan. Its request is recorded again when it differs, because
  // a run may have other memory or shapes. After a few times it is not recorded any more.
  hal::ExecutionResult computeStep(size_t step, const std::shared_ptr<hal::PreparedModel>& prepared,
                                   PlanBurst* burst, const hal::Request& request,
                                   const hal::ExecuteOptions& options);

 private:
  struct Step {
    std::shared_ptr<hal::PreparedModel> prepared;
    uint64_t burst = 0;    // PlanBurst::id; 0: recorded without a burst
    hal::Request request;  // of a compound plan
    unsigned changes = 0;  // how often the request was another one
    std::unique_ptr<hal::ReusableExecution> execution;  // may refer to `request`
  };
  static bool isRecorded(const Step& own, const std::shared_ptr<hal::PreparedModel>& prepared,
                         const PlanBurst* burst);
  // Has the device record `request`, which outlives the recording.
  static Status record(Step& own, size_t step, const std::shared_ptr<hal::PreparedModel>& prepared,
                       PlanBurst* burst, const hal::Request& request);

  std::map<size_t, Step> steps_;  // a simple plan has step 0
};

}  // namespace halyard::runtime
