#include "device/priority_gate.h"

#include <algorithm>

namespace halyard::vulkandriver {
namespace {

size_t index(hal::Priority priority) { return static_cast<size_t>(priority); }

}  // namespace

bool PriorityGate::isFree(hal::Priority priority) const {
  for (size_t higher = index(priority) + 1; higher < inside_.size(); ++higher) {
    if (inside_[higher] > 0) return false;
  }
  return true;
}

Status PriorityGate::enter(hal::Priority priority, const std::optional<hal::TimePoint>& deadline) {
  std::unique_lock lock(mutex_);
  ++inside_[index(priority)];
  hal::TimePoint end = hal::Clock::now() + kLongestWait;
  const bool isLate = deadline && *deadline < end;
  if (isLate) end = *deadline;
  const bool isFound = changed_.wait_until(lock, end, [&] { return isFree(priority); });
  if (isFound || !isLate) return okStatus();
  --inside_[index(priority)];
  changed_.notify_all();
  return makeStatus(ResultCode::MISSED_DEADLINE_TRANSIENT,
                    "the deadline has passed while models of a higher priority computed");
}

void PriorityGate::leave(hal::Priority priority) {
  {
    const std::lock_guard lock(mutex_);
    --inside_[index(priority)];
  }
  changed_.notify_all();
}

}  // namespace halyard::vulkandriver
