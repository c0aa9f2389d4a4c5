#include "pause.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "halyard/driver/deadline.h"

namespace halyard::drivers {

Status pauseFor(Milliseconds time, const std::optional<hal::TimePoint>& deadline,
                std::stop_token cancel) {
  if (time.count() <= 0) return okStatus();
  hal::TimePoint end = hal::Clock::now() + std::chrono::duration_cast<hal::Clock::duration>(time);
  if (deadline) end = std::min(end, *deadline);
  std::mutex mutex;
  std::condition_variable_any changed;
  std::unique_lock lock(mutex);
  changed.wait_until(lock, cancel, end, [] { return false; });
  hal::ExecuteOptions options;
  options.deadline = deadline;
  options.cancel = std::move(cancel);
  return hal::checkMayContinue(options);
}

}  // namespace halyard::drivers
