// Memory: an ANeuralNetworksMemory: shared memory of the application.
// Thread safety: immutable. Ownership: shares the pool.
#pragma once

#include "halyard/driver/shared_memory.h"
#include "halyard/driver/status.h"

namespace halyard::runtime {

class Memory {
 public:
  static Result<std::unique_ptr<Memory>> createFromFd(size_t size, int prot, int fd,
                                                      uint64_t offset);
  // `fd` is the buffer's memory, and duplicated.
  static Result<std::unique_ptr<Memory>> createFromHardwareBuffer(
      const HardwareBufferDescription& description, int fd);
  explicit Memory(SharedMemoryPtr pool) : pool_(std::move(pool)) {}

  const SharedMemoryPtr& pool() const { return pool_; }
  // A hardware buffer that is an image: drivers only know its contents, and use it as a whole.
  bool opaque() const { return pool_->kind() == MemoryKind::HARDWARE_BUFFER; }
  // BAD_DATA unless [offset, offset + length) lies inside, or when both are 0; for an opaque memory
  // unless both are 0.
  Status checkRange(uint64_t offset, uint64_t length) const;
  // Copies all bytes; the sizes must be equal.
  static Status copy(const Memory& source, const Memory& destination);

 private:
  SharedMemoryPtr pool_;
};

}  // namespace halyard::runtime
