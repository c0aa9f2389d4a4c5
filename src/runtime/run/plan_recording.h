// PlanRecording: an execution that is computed again and again, as the device of a simple plan
// keeps it.
// Thread safety: one thread at a time.
// Ownership: owns the device's execution, shares its prepared model; the request must outlive it.
#pragma once

#include <cstdint>
#include <memory>

#include "halyard/driver/device.h"

namespace halyard::runtime {

class PlanBurst;

class PlanRecording {
 public:
  // Computes `request`, which is the same each time. It is recorded at the first computation, and
  // again when another prepared model, or another burst, computes it. `burst` may be null.
  hal::ExecutionResult compute(const std::shared_ptr<hal::PreparedModel>& prepared,
                               PlanBurst* burst, const hal::Request& request,
                               const hal::ExecuteOptions& options);

 private:
  Status record(const std::shared_ptr<hal::PreparedModel>& prepared, PlanBurst* burst,
                const hal::Request& request);

  std::shared_ptr<hal::PreparedModel> prepared_;
  uint64_t burst_ = 0;  // PlanBurst::id; 0: recorded without a burst
  std::unique_ptr<hal::ReusableExecution> execution_;
};

}  // namespace halyard::runtime
