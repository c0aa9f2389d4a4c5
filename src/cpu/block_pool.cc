// Best fit over a short list, because an execution has few free blocks at a time.
#include "cpu/block_pool.h"

#include <algorithm>
#include <cstdint>
#include <new>
#include <utility>

namespace halyard::cpu {
namespace {

// A block that is much larger than needed stays for a larger tensor.
bool fits(size_t capacity, size_t bytes) { return capacity >= bytes && capacity / 2 <= bytes; }

}  // namespace

BlockPool::Block BlockPool::allocate(size_t bytes) {
  Block block;
  block.capacity = (bytes + kAlignment) / kAlignment * kAlignment;
  block.memory.reset(std::aligned_alloc(kAlignment, block.capacity));
  if (block.memory == nullptr) throw std::bad_alloc();
  return block;
}

BlockPool::Block BlockPool::acquire(size_t bytes) {
  if (bytes > PTRDIFF_MAX - kAlignment) return {};  // no object can be larger
  const size_t capacity = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  const size_t needed = capacity == 0 ? kAlignment : capacity;
  auto best = free_.end();
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    if (fits(it->capacity, needed) && (best == free_.end() || it->capacity < best->capacity)) {
      best = it;
    }
  }
  Block block;
  if (best != free_.end()) {
    block = std::move(*best);
    free_.erase(best);
    kept_ -= block.capacity;
  } else {
    block.memory.reset(std::aligned_alloc(kAlignment, needed));
    if (block.memory == nullptr) return {};
    block.capacity = needed;
  }
  return adopt(std::move(block));
}

BlockPool::Block BlockPool::adopt(Block block) {
  inUse_ += block.capacity;
  peak_ = std::max(peak_, inUse_ + kept_);
  return block;
}

BlockPool::Block BlockPool::disown(Block block) {
  inUse_ -= block.capacity;
  trim();
  return block;
}

void BlockPool::release(Block block) {
  if (block.memory == nullptr) return;
  inUse_ -= block.capacity;
  kept_ += block.capacity;
  free_.push_back(std::move(block));
  trim();
}

void BlockPool::trim() {
  while (kept_ > inUse_ && (kept_ > kFewBytes || free_.size() > kFewBlocks)) {
    kept_ -= free_.front().capacity;
    free_.erase(free_.begin());
  }
}

}  // namespace halyard::cpu
