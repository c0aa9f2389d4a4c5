// Pools of memory from another process: checks them, and reads and writes them without trust.
// Thread safety: ReceivedPool is immutable. The sender shares its contents and may change them at
// any moment.
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

// A peer's description of a pool, unchecked. Numbers as on the wire.
struct PoolDescription {
  uint32_t kind = 0;
  uint64_t size = 0;
  uint32_t prot = 0;  // 1: read, 2: write
  uint64_t offset = 0;
  ForeignFd fd;
  std::optional<HardwareBufferDescription> hardwareBuffer;
};

// The maximum number of bytes copied to private memory for one model or request.
inline constexpr uint64_t kMaxCopiedBytes = uint64_t{2} << 30;

// The first half of ReceivedPool::open. Returns BAD_DATA when the numbers, or a hardware buffer's
// description, are invalid or the descriptor is missing. Does not examine the file.
Result<SharedMemoryPtr> describePool(PoolDescription description);

class ReceivedPool {
 public:
  // Returns BAD_DATA with the reason for an invalid pool. Its kind or protection may be unknown, or
  // its size 0. Its offset may be impossible for the kind, or no multiple of the page size. Its
  // descriptor may be missing, not of a regular file or dma-buf, or lack access rights. Its file
  // may be too short. The description of a hardware buffer may not match its memory. A
  // HARDWARE_BUFFER has size 0, and is for drivers only.
  static Result<ReceivedPool> open(PoolDescription description);
  // The second half of open(): checks the file of a pool from describePool or from this process.
  static Result<ReceivedPool> inspect(SharedMemoryPtr memory);

  // Describes the pool. It may be mapped only if mappable() is true.
  const SharedMemoryPtr& memory() const { return memory_; }
  uint64_t size() const { return memory_->size(); }
  // Returns true when the file can never become shorter (a memfd sealed against shrinking, a
  // dma-buf). An access to its mapping then cannot raise SIGBUS. The contents of another pool are
  // copied instead.
  bool mappable() const { return mappable_; }
  // Returns true for an image: it has no bytes to read, write or copy.
  bool opaque() const { return memory_->kind() == MemoryKind::HARDWARE_BUFFER; }
  bool readable() const;
  bool writable() const;

  // Keeps a mappable pool mapped from now on, so that a copy needs no system call. Ignores other
  // pools. May return UNMAPPABLE.
  Status keepMapped();

  // Copies between private memory and `offset` bytes into the pool. The range must lie within
  // size(). Returns BAD_DATA when the file has become too short.
  Status read(uint64_t offset, std::span<uint8_t> to) const;
  Status write(uint64_t offset, std::span<const uint8_t> from) const;

 private:
  ReceivedPool(SharedMemoryPtr memory, bool mappable)
      : memory_(std::move(memory)), mappable_(mappable) {}

  SharedMemoryPtr memory_;
  bool mappable_;
  const Mapping* mapping_ = nullptr;  // mapping of memory_, if it is kept
};

// Returns the number of descriptions with a descriptor of their own.
uint64_t countDescriptors(const std::vector<PoolDescription>& descriptions);

// Opens all pools. The error names the pool by its index. Hardware buffers need level 3 (HAL 1.2).
Result<std::vector<ReceivedPool>> openPools(std::vector<PoolDescription> descriptions,
                                            FeatureLevel level = FeatureLevel::FL3);

}  // namespace halyard::hal
