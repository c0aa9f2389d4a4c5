// Memory: an ANeuralNetworksMemory: memory of the application, or made from a descriptor.
// Thread safety: immutable, but for the state of memory made from a descriptor, which guards
// itself. Ownership: shares the pool, or what has been made from the descriptor.
#pragma once

#include "halyard/driver/shared_memory.h"
#include "halyard/driver/status.h"
#include "runtime/memory/described_memory.h"

namespace halyard::runtime {

class Memory {
 public:
  static Result<std::unique_ptr<Memory>> createFromFd(size_t size, int prot, int fd,
                                                      uint64_t offset);
  // `fd` is the buffer's memory, and duplicated.
  static Result<std::unique_ptr<Memory>> createFromHardwareBuffer(
      const HardwareBufferDescription& description, int fd);
  explicit Memory(SharedMemoryPtr pool)
      : pool_(std::move(pool)), constants_(SharedMemory::ofConstants(*pool_)) {}
  explicit Memory(std::shared_ptr<DescribedMemory> described) : described_(std::move(described)) {}

  // The application's memory; null for memory made from a descriptor.
  const SharedMemoryPtr& pool() const { return pool_; }
  // The same for models: whoever shortens its file makes an error, and no process crash.
  const SharedMemoryPtr& constants() const { return constants_; }
  // Null for the application's own memory.
  const std::shared_ptr<DescribedMemory>& described() const { return described_; }
  // A hardware buffer that is an image: drivers only know its contents, and use it as a whole.
  bool opaque() const { return pool_ != nullptr && pool_->kind() == MemoryKind::HARDWARE_BUFFER; }
  // BAD_DATA unless [offset, offset + length) lies inside, or when both are 0; for an opaque memory
  // unless both are 0; always for memory made from a descriptor, which has no places.
  Status checkRange(uint64_t offset, uint64_t length) const;
  // Copies everything. BAD_DATA when the two do not go together, or there is nothing in the source;
  // UNMAPPABLE; a driver's own error. A destination made from a descriptor has contents afterwards
  // only if that succeeds.
  static Status copy(const Memory& source, const Memory& destination);

 private:
  SharedMemoryPtr pool_;
  SharedMemoryPtr constants_;
  std::shared_ptr<DescribedMemory> described_;
};

}  // namespace halyard::runtime
