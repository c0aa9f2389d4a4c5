// Scratch memory by first fit: a run asks for the same sizes in the same order every time.
#include "run_services.h"

#include <algorithm>
#include <new>

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

void* RunServices::scratch(size_t bytes) {
  const std::lock_guard lock(mutex_);
  for (Scratch& scratch : scratch_) {
    if (scratch.used || scratch.block.capacity < bytes) continue;
    scratch.used = true;
    return scratch.block.data();
  }
  constexpr size_t kAlignment = cpu::BlockPool::kAlignment;
  const size_t capacity = (bytes + kAlignment) / kAlignment * kAlignment;
  cpu::BlockPool::Block block;
  block.memory.reset(std::aligned_alloc(kAlignment, capacity));
  if (block.data() == nullptr) throw std::bad_alloc();
  block.capacity = capacity;
  scratch_.push_back({std::move(block), true});
  return scratch_.back().block.data();
}

void RunServices::reset() {
  for (Scratch& scratch : scratch_) scratch.used = false;
}

}  // namespace halyard::cpudriver
