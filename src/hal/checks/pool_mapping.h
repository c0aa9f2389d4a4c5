// Pools of memory received from another process: checked, and read and written without trust.
// Thread safety: ReceivedPool is immutable; its contents are shared with the sender, who may change
// them at any moment.
// Ownership: owns the received descriptor.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/foreign_fd.h"
#include "halyard/driver/nnapi_types.h"
#include "halyard/driver/shared_memory.h"

namespace halyard::hal {

// What a peer says about a pool: nothing of it is checked. Numbers as on the wire.
struct PoolDescription {
  uint32_t kind = 0;
  uint64_t size = 0;
  uint32_t prot = 0;  // 1: read, 2: write
  uint64_t offset = 0;
  ForeignFd fd;
  std::optional<HardwareBufferDescription> hardwareBuffer;
};

// The most bytes that are copied to private memory for one model or request.
inline constexpr uint64_t kMaxCopiedBytes = uint64_t{2} << 30;

// The first half of ReceivedPool::open: BAD_DATA when the numbers, or a hardware buffer's
// description, make no sense or the descriptor is missing. The file has not been looked at.
Result<SharedMemoryPtr> describePool(PoolDescription description);

class ReceivedPool {
 public:
  // BAD_DATA saying what is wrong: unknown kind or protection; a size of 0; an offset that the kind
  // does not have or that is not of a page; a descriptor that is missing, of neither a regular file
  // nor a dma-buf, opened for too little, or of a file that is too short; a hardware buffer whose
  // description does not fit its memory. A HARDWARE_BUFFER is of size 0 and for drivers only.
  static Result<ReceivedPool> open(PoolDescription description);
  // The second half of open(): the checks of the file behind a pool that describePool has made, or
  // that comes from this process.
  static Result<ReceivedPool> inspect(SharedMemoryPtr memory);

  // Describes the pool. To be mapped only if mappable() says so.
  const SharedMemoryPtr& memory() const { return memory_; }
  uint64_t size() const { return memory_->size(); }
  // True when the file can never become shorter (a memfd sealed against shrinking, a dma-buf), so
  // that an access to its mapping cannot raise SIGBUS. The contents of another pool are copied
  // instead.
  bool mappable() const { return mappable_; }
  // An image: there are no bytes for read and write, and nothing to copy.
  bool opaque() const { return memory_->kind() == MemoryKind::HARDWARE_BUFFER; }
  bool readable() const;
  bool writable() const;

  // Keeps a mappable pool mapped from now on, so that copies are nothing but that. Does nothing to
  // others. UNMAPPABLE.
  Status keepMapped();

  // Copy between private memory and `offset` bytes into the pool; the range must lie within size().
  // BAD_DATA when the file has become too short.
  Status read(uint64_t offset, std::span<uint8_t> to) const;
  Status write(uint64_t offset, std::span<const uint8_t> from) const;

 private:
  ReceivedPool(SharedMemoryPtr memory, bool mappable)
      : memory_(std::move(memory)), mappable_(mappable) {}

  SharedMemoryPtr memory_;
  bool mappable_;
  const Mapping* mapping_ = nullptr;  // of memory_, if it is to be kept
};

// How many of them have a descriptor of their own.
uint64_t countDescriptors(const std::vector<PoolDescription>& descriptions);

// Opens each; the error names the pool by its index. Hardware buffers need level 3 (HAL 1.2).
Result<std::vector<ReceivedPool>> openPools(std::vector<PoolDescription> descriptions,
                                            FeatureLevel level = FeatureLevel::FL3);

}  // namespace halyard::hal
