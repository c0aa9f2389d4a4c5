#include "hal/session/session_services.h"

#include <algorithm>

namespace halyard::hal {

Result<RingWorkers*> SessionServices::ringWorkers(Priority priority) {
  const std::lock_guard lock(mutex_);
  if (stopped_) return opFailed("the driver is shutting down");
  std::unique_ptr<RingWorkers>& workers = ringWorkers_[static_cast<size_t>(priority)];
  if (workers == nullptr) {
    RingWorkers::Options options;
    options.onThreadStart = [priority] { enterPriorityClass(priority); };
    HALYARD_ASSIGN_OR_RETURN(workers, RingWorkers::start(std::move(options)));
  }
  return workers.get();
}

bool SessionServices::drain(TimePoint until) {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  bool drained = true;
  for (const auto& workers : ringWorkers_) {
    if (workers == nullptr) continue;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
    drained = workers->drain(std::max(left, std::chrono::milliseconds(0))) && drained;
  }
  return drained;
}

void SessionServices::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  for (auto& workers : ringWorkers_) workers.reset();
}

}  // namespace halyard::hal
