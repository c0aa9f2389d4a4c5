// Scratch memory by first fit: a run asks for the same sizes in the same order every time.
#include "run_services.h"

#include <algorithm>
#include <new>

#include "base/work_limit.h"

namespace halyard::cpudriver {

void RunServices::parallelFor(size_t count, size_t grain,
                              const std::function<void(size_t begin, size_t end)>& body) {
  const size_t finest = finer_ ? (grain + 3) / 4 : grain;
  if (threads_ != nullptr && threads_->pool().threads() > 1 &&
      count > std::max<size_t>(finest, 1)) {
    hadLoops_.store(true, std::memory_order_relaxed);
    if (divides_.load(std::memory_order_relaxed)) {
      if (threads_->divides()) return threads_->pool().parallelFor(count, finest, body);
      // The rest of the run does not ask again.
      divides_.store(false, std::memory_order_relaxed);
      withheld_.store(true, std::memory_order_relaxed);
    }
  }
  forEachChunk(0, count, grain, body);
}

void RunServices::beginRun(bool divides) {
  divides_ = divides;
  hadLoops_ = false;
  withheld_ = false;
  if (threads_ != nullptr) delayBefore_ = threads_->pool().delay();
}

bool RunServices::wasAsWanted() const {
  return hadLoops_ && !withheld_ && threads_->pool().delay() == delayBefore_;
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
