#include "halyard/driver/deadline.h"

namespace halyard::hal {
namespace {

Status checkDeadline(const std::optional<TimePoint>& deadline) {
  if (!deadline) return okStatus();
  const auto late = Clock::now() - *deadline;
  if (late < Clock::duration::zero()) return okStatus();
  return makeStatus(ResultCode::MISSED_DEADLINE_TRANSIENT, "the deadline has passed by {} us",
                    std::chrono::duration_cast<std::chrono::microseconds>(late).count());
}

}  // namespace

Status checkMayContinue(const ExecuteOptions& options) {
  if (options.cancel.stop_requested()) return opFailed("the execution has been cancelled");
  return checkDeadline(options.deadline);
}

Status checkMayContinue(const PrepareOptions& options) { return checkDeadline(options.deadline); }

}  // namespace halyard::hal
