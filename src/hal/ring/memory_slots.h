// MemorySlots: the client's side of a burst's memory cache: which memory is in which slot.
// Thread safety: all methods may be called from any thread.
// Ownership: refers to memories weakly; a memory that ends gives up its slot.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "halyard/driver/shared_memory.h"

namespace halyard::hal {

class MemorySlots : public std::enable_shared_from_this<MemorySlots> {
 public:
  // `onFree`: tells the driver that a slot is free; must not block. Its answer is recycle().
  static std::shared_ptr<MemorySlots> create(std::function<void(int32_t slot)> onFree);

  // `offer` hands each memory over from now on that is given a slot: before a later onFree for that
  // slot. Must not block.
  void offerBy(std::function<void(int32_t slot, const SharedMemory&)> offer);
  // The slot of a memory; the first use gives it one.
  int32_t slotOf(const SharedMemoryPtr& memory);
  // The memories in the slots, which the driver names. BAD_DATA if one of them is unknown or free.
  Result<std::vector<SharedMemoryPtr>> memoriesOf(std::span<const int32_t> slots) const;
  // Takes the memory out of its slot, if it is in one.
  void forget(const SharedMemory& memory);
  // The driver has let go of the slot: it may be used again. Not before: what is sent through the
  // ring may overtake what is said about slots.
  void recycle(int32_t slot);

 private:
  explicit MemorySlots(std::function<void(int32_t slot)> onFree) : onFree_(std::move(onFree)) {}

  const std::function<void(int32_t)> onFree_;
  mutable std::mutex mutex_;
  std::function<void(int32_t, const SharedMemory&)> offer_;
  std::unordered_map<const SharedMemory*, int32_t> slots_;
  std::vector<std::weak_ptr<const SharedMemory>> memories_;  // by slot
  std::vector<int32_t> free_;
};

}  // namespace halyard::hal
