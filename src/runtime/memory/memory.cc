// Memory objects over file descriptors.
#include "runtime/memory/memory.h"

#include <sys/mman.h>
#include <unistd.h>

namespace halyard::runtime {

Result<std::unique_ptr<Memory>> Memory::createFromFd(size_t size, int prot, int fd,
                                                     uint64_t offset) {
  if ((prot & ~(PROT_READ | PROT_WRITE)) != 0) {
    return badData("protection {:#x}, expected a combination of PROT_READ and PROT_WRITE", prot);
  }
  if (size == 0) return badData("memory of size 0");
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  if (offset % page != 0) {
    return badData("offset {} is not a multiple of the page size {}", offset, page);
  }
  HALYARD_ASSIGN_OR_RETURN(SharedMemoryPtr pool, SharedMemory::fromFd(size, prot, fd, offset));
  return std::make_unique<Memory>(std::move(pool));
}

Result<std::unique_ptr<Memory>> Memory::createFromHardwareBuffer(
    const HardwareBufferDescription& description, int fd) {
  HALYARD_ASSIGN_OR_RETURN(SharedMemoryPtr pool, SharedMemory::fromHardwareBuffer(description, fd));
  return std::make_unique<Memory>(std::move(pool));
}

Status Memory::checkRange(uint64_t offset, uint64_t length) const {
  if (described_ != nullptr) return badData("memory made from a descriptor has no places");
  if (opaque()) {
    if (offset == 0 && length == 0) return okStatus();
    return badData("offset {} and length {}, expected 0 with a hardware buffer that is no BLOB",
                   offset, length);
  }
  if (offset == 0 && length == 0) return badData("offset and length are both 0");
  if (offset > pool_->size() || length > pool_->size() - offset) {
    return badData("bytes from {} on, {} of them, lie outside the memory of {} bytes", offset,
                   length, pool_->size());
  }
  return okStatus();
}

}  // namespace halyard::runtime
