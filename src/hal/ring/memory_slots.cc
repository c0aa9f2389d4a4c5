#include "hal/ring/memory_slots.h"

namespace halyard::hal {

std::shared_ptr<MemorySlots> MemorySlots::create(std::function<void(int32_t slot)> onFree) {
  return std::shared_ptr<MemorySlots>(new MemorySlots(std::move(onFree)));
}

void MemorySlots::offerBy(std::function<void(int32_t slot, const SharedMemory&)> offer) {
  const std::lock_guard lock(mutex_);
  offer_ = std::move(offer);
}

int32_t MemorySlots::slotOf(const SharedMemoryPtr& memory) {
  int32_t slot = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto known = slots_.find(memory.get());
    if (known != slots_.end()) return known->second;
    if (!free_.empty()) {
      slot = free_.back();
      free_.pop_back();
    } else {
      slot = static_cast<int32_t>(memories_.size());
      memories_.emplace_back();
    }
    memories_[static_cast<size_t>(slot)] = memory;
    slots_.emplace(memory.get(), slot);
    if (offer_) offer_(slot, *memory);
  }
  memory->whenGone(weak_from_this(), [weak = weak_from_this()](const SharedMemory& gone) {
    if (const auto slots = weak.lock()) slots->forget(gone);
  });
  return slot;
}

Result<std::vector<SharedMemoryPtr>> MemorySlots::memoriesOf(std::span<const int32_t> slots) const {
  const std::lock_guard lock(mutex_);
  std::vector<SharedMemoryPtr> memories;
  for (const int32_t slot : slots) {
    SharedMemoryPtr memory;
    if (slot >= 0 && static_cast<size_t>(slot) < memories_.size()) {
      memory = memories_[static_cast<size_t>(slot)].lock();
    }
    if (memory == nullptr) return badData("there is no memory in slot {}", slot);
    memories.push_back(std::move(memory));
  }
  return memories;
}

void MemorySlots::forget(const SharedMemory& memory) {
  int32_t slot = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto known = slots_.find(&memory);
    if (known == slots_.end()) return;
    slot = known->second;
    slots_.erase(known);
    memories_[static_cast<size_t>(slot)].reset();
  }
  onFree_(slot);
}

void MemorySlots::recycle(int32_t slot) {
  const std::lock_guard lock(mutex_);
  free_.push_back(slot);
}

}  // namespace halyard::hal
