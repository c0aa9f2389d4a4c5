// PlanRecording: an execution that is computed repeatedly, as the devices of its plan record it.
// Thread safety: one thread at a time.
// Ownership: owns the executions of the devices and shares their prepared models. The request of a
// simple plan must outlive it. It owns the requests of steps.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "halyard/driver/device.h"

namespace halyard::runtime {

class PlanBurst;

class PlanRecording {
 public:
  // Computes the request of a simple plan. `request` must be the same object in each call. The
  // first call records it. A later call records it again when the prepared model or the burst is
  // another one. `burst` may be null.
  hal::ExecutionResult compute(const std::shared_ptr<hal::PreparedModel>& prepared,
                               PlanBurst* burst, const hal::Request& request,
                               const hal::ExecuteOptions& options);
  // Does the same for a step of a compound plan. It records the request again when it differs,
  // because a run may have other memory or shapes. After a few changes it stops recording the step.
  hal::ExecutionResult computeStep(size_t step, const std::shared_ptr<hal::PreparedModel>& prepared,
                                   PlanBurst* burst, const hal::Request& request,
                                   const hal::ExecuteOptions& options);

 private:
  struct Step {
    std::shared_ptr<hal::PreparedModel> prepared;
    uint64_t burst = 0;    // PlanBurst::id; 0: recorded without a burst
    hal::Request request;  // of a compound plan
    unsigned changes = 0;  // how often the request has changed
    std::unique_ptr<hal::ReusableExecution> execution;  // may refer to `request`
  };
  static bool isRecorded(const Step& own, const std::shared_ptr<hal::PreparedModel>& prepared,
                         const PlanBurst* burst);
  // Makes the device record `request`, which must outlive the recording.
  static Status record(Step& own, size_t step, const std::shared_ptr<hal::PreparedModel>& prepared,
                       PlanBurst* burst, const hal::Request& request);

  std::map<size_t, Step> steps_;  // a simple plan has step 0
};

}  // namespace halyard::runtime
