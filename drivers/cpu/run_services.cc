#include "run_services.h"

#include <algorithm>

namespace halyard::cpudriver {

void RunServices::divide(size_t count, size_t grain,
                         const std::function<void(size_t begin, size_t end)>& body,
                         LoopOrder order) {
  if (threads_ != nullptr && threads_->pool().threads() > 1 && count > std::max<size_t>(grain, 1) &&
      divides_.load(std::memory_order_relaxed)) {
    if (threads_->divides()) return threads_->pool().parallelFor(count, grain, body, order);
    // The rest of the run does not ask again.
    divides_.store(false, std::memory_order_relaxed);
  }
  forEachChunk(0, count, grain, body, order);
}

}  // namespace halyard::cpudriver
