#include "run_services.h"

#include <algorithm>

#include "base/work_limit.h"

namespace halyard::cpudriver {

void RunServices::parallelFor(size_t count, size_t grain,
                              const std::function<void(size_t begin, size_t end)>& body) {
  if (threads_ != nullptr && threads_->pool().threads() > 1 && count > std::max<size_t>(grain, 1) &&
      divides_.load(std::memory_order_relaxed)) {
    if (threads_->divides()) return threads_->pool().parallelFor(count, grain, body);
    // The rest of the run does not ask again.
    divides_.store(false, std::memory_order_relaxed);
  }
  forEachChunk(0, count, grain, body);
}

}  // namespace halyard::cpudriver
