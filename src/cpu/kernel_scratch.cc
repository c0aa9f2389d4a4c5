// Scratch memory by first fit.
#include "cpu/kernel_scratch.h"

namespace halyard::cpu {

void* KernelScratch::scratch(size_t bytes) {
  const std::lock_guard lock(mutex_);
  for (Scratch& scratch : scratch_) {
    if (scratch.used || scratch.block.capacity < bytes) continue;
    scratch.used = true;
    return scratch.block.data();
  }
  scratch_.push_back({BlockPool::allocate(bytes), true});
  return scratch_.back().block.data();
}

void KernelScratch::reset() {
  for (Scratch& scratch : scratch_) scratch.used = false;
}

}  // namespace halyard::cpu
