// MemorySlots: the client's side of a burst's memory cache: it assigns memories to slots.
// Thread safety: all methods may be called from any thread.
// Ownership: has weak references to memories. The end of a memory frees its slot.
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
  // `onFree` tells the driver that a slot is free, and must not block. The driver's answer is
  // recycle().
  static std::shared_ptr<MemorySlots> create(std::function<void(int32_t slot)> onFree);

  // Sets the function that sends each memory that gets a slot from now on. It runs before a later
  // onFree for that slot, and must not block.
  void offerBy(std::function<void(int32_t slot, const SharedMemory&)> offer);
  // The slot of a memory. The first call assigns one.
  int32_t slotOf(const SharedMemoryPtr& memory);
  // The memories in the slots that the driver names. BAD_DATA if a slot is unknown or free.
  Result<std::vector<SharedMemoryPtr>> memoriesOf(std::span<const int32_t> slots) const;
  // Frees the slot of the memory, if it has one.
  void forget(const SharedMemory& memory);
  // The driver has freed the slot, so it may be assigned again. Without this confirmation, a packet
  // in the ring might overtake the call that frees the slot.
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
