#include "hardware_buffer/storage.h"

#include <linux/dma-heap.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/file_facts.h"
#include "halyard/driver/shared_memory.h"

namespace halyard::hardware_buffer {
namespace {

constexpr const char* kName = "AHardwareBuffer";
constexpr uint64_t kMaxSize = uint64_t{1} << 62;

uint64_t wholePages(uint64_t size) {
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return (size + page - 1) / page * page;
}

// Invalid when the heap does not exist or has no memory. The caller then tries another storage.
UniqueFd allocateFromHeap(uint64_t size, const char* path) {
  const UniqueFd heap(::open(path, O_RDONLY | O_CLOEXEC));
  if (!heap.valid()) return UniqueFd();
  dma_heap_allocation_data data{};
  data.len = wholePages(size);
  data.fd_flags = O_RDWR | O_CLOEXEC;
  if (::ioctl(heap.get(), DMA_HEAP_IOCTL_ALLOC, &data) != 0) return UniqueFd();
  return UniqueFd(static_cast<int>(data.fd));
}

Result<UniqueFd> makeMemfd(uint64_t size, int seals) {
  UniqueFd fd(::memfd_create(kName, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return errnoStatus(ResultCode::OUT_OF_MEMORY, errno, "memfd_create");
  if (::ftruncate(fd.get(), static_cast<off_t>(size)) != 0) {
    return errnoStatus(ResultCode::OUT_OF_MEMORY, errno,
                       fmt::format("a hardware buffer of {} bytes", size));
  }
  if (::fcntl(fd.get(), F_ADD_SEALS, seals) != 0) {
    return errnoStatus(ResultCode::OP_FAILED, errno, "sealing a hardware buffer");
  }
  return fd;
}

UniqueFd allocateFromUdmabuf(uint64_t size, const char* path) {
  const UniqueFd device(::open(path, O_RDWR | O_CLOEXEC));
  if (!device.valid()) return UniqueFd();
  // The kernel requires exactly this seal, and whole pages.
  const Result<UniqueFd> backing = makeMemfd(wholePages(size), F_SEAL_SHRINK);
  if (!backing.ok()) return UniqueFd();
  udmabuf_create create{};
  create.memfd = static_cast<uint32_t>(backing.value().get());
  create.flags = UDMABUF_FLAGS_CLOEXEC;
  create.size = wholePages(size);
  return UniqueFd(::ioctl(device.get(), UDMABUF_CREATE, &create));
}

}  // namespace

const char* storageName(Storage storage) {
  switch (storage) {
    case Storage::DMA_HEAP:
      return "dma_heap";
    case Storage::UDMABUF:
      return "udmabuf";
    case Storage::MEMFD:
      return "memfd";
    case Storage::DMA_BUF:
      return "dma_buf";
  }
  return "";
}

Result<Memory> allocateMemory(uint64_t size, const Allocators& allocators) {
  if (size > kMaxSize) {
    return makeStatus(ResultCode::OUT_OF_MEMORY, "a hardware buffer of {} bytes", size);
  }
  if (UniqueFd fd = allocateFromHeap(size, allocators.dmaHeap); fd.valid()) {
    return Memory{std::move(fd), Storage::DMA_HEAP};
  }
  if (UniqueFd fd = allocateFromUdmabuf(size, allocators.udmabuf); fd.valid()) {
    return Memory{std::move(fd), Storage::UDMABUF};
  }
  HALYARD_ASSIGN_OR_RETURN(UniqueFd fd, makeMemfd(size, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL));
  return Memory{std::move(fd), Storage::MEMFD};
}

Result<Memory> adoptMemory(UniqueFd fd, uint64_t size, bool writable) {
  HALYARD_ASSIGN_OR_RETURN(const FileFacts file, examineFile(fd.get()));
  if (!file.cannotShrink) return badData("the hardware buffer's memory could shrink");
  if (size > file.size) {
    return badData("a hardware buffer of {} bytes in memory of {} bytes", size, file.size);
  }
  if (writable && (!file.writable || file.sealedForWriting)) {
    return badData("the hardware buffer is for writing, and its memory is read-only");
  }
  return Memory{std::move(fd), file.isDmaBuf ? Storage::DMA_BUF : Storage::MEMFD};
}

Result<uint64_t> memoryId(const Memory& memory) {
  struct stat st {};
  if (::fstat(memory.fd.get(), &st) != 0) return errnoStatus(ResultCode::OP_FAILED, errno, "fstat");
  // Memfds and dma-bufs have inodes in different file systems of the kernel, so their inode numbers
  // may be equal.
  constexpr uint64_t kDmaBuf = uint64_t{1} << 63;
  return memory.storage == Storage::MEMFD ? st.st_ino & ~kDmaBuf : st.st_ino | kDmaBuf;
}

}  // namespace halyard::hardware_buffer
