// Memory, an ANeuralNetworksMemory: memory of the application, or made from a descriptor.
// Thread safety: immutable, except for the state of memory made from a descriptor, which has its
// own lock.
// Ownership: shares the pool, or the memory made from the descriptor.
#pragma once

#include "halyard/driver/shared_memory.h"
#include "halyard/driver/status.h"
#include "runtime/memory/described_memory.h"

namespace halyard::runtime {

class Memory {
 public:
  static Result<std::unique_ptr<Memory>> createFromFd(size_t size, int prot, int fd,
                                                      uint64_t offset);
  // `fd` is the buffer's memory; it is duplicated.
  static Result<std::unique_ptr<Memory>> createFromHardwareBuffer(
      const HardwareBufferDescription& description, int fd);
  explicit Memory(SharedMemoryPtr pool)
      : pool_(std::move(pool)), constants_(SharedMemory::ofConstants(*pool_)) {}
  explicit Memory(std::shared_ptr<DescribedMemory> described) : described_(std::move(described)) {}

  // Returns the application's memory; null for memory made from a descriptor.
  const SharedMemoryPtr& pool() const { return pool_; }
  // The same for models. If its file becomes shorter, an access is an error and does not crash the
  // process.
  const SharedMemoryPtr& constants() const { return constants_; }
  // Null for the application's own memory.
  const std::shared_ptr<DescribedMemory>& described() const { return described_; }
  // Returns true for a hardware buffer that is an image. Only drivers know its contents, and use it
  // as a whole.
  bool opaque() const { return pool_ != nullptr && pool_->kind() == MemoryKind::HARDWARE_BUFFER; }
  // Returns BAD_DATA unless [offset, offset + length) lies inside or both are 0. For an opaque
  // memory, both must be 0. For memory made from a descriptor, the result is always BAD_DATA.
  Status checkRange(uint64_t offset, uint64_t length) const;
  // Copies everything. Returns BAD_DATA when the two do not match, or the source has no contents.
  // Also returns UNMAPPABLE and a driver's own errors. A destination made from a descriptor has
  // contents afterwards only after success.
  static Status copy(const Memory& source, const Memory& destination);

 private:
  SharedMemoryPtr pool_;
  SharedMemoryPtr constants_;
  std::shared_ptr<DescribedMemory> described_;
};

}  // namespace halyard::runtime
