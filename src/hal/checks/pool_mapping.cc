#include "hal/checks/pool_mapping.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <memory>

#include "base/file_facts.h"
#include "base/read_range.h"

namespace halyard::hal {
namespace {

constexpr uint32_t kWireProtRead = 1;
constexpr uint32_t kWireProtWrite = 2;

// Checks each kind's offset and size in the file.
Status checkPlace(const PoolDescription& pool) {
  const auto kind = static_cast<MemoryKind>(pool.kind);
  if (kind == MemoryKind::MMAP_FD) {
    const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
    if (pool.offset % page != 0) {
      return badData("offset {} is not a multiple of the page size {}", pool.offset, page);
    }
  } else if (pool.offset != 0) {
    return badData("offset {}, expected 0 with {} memory", pool.offset, memoryKindName(kind));
  }
  if (kind == MemoryKind::HARDWARE_BUFFER) {
    if (pool.size != 0) return badData("size {}, expected 0 of a hardware_buffer", pool.size);
  } else if (pool.size == 0) {
    return badData("its size is 0");
  }
  return okStatus();
}

// The description of a hardware buffer must match the pool that carries it.
Status checkHardwareBuffer(const PoolDescription& pool) {
  const auto kind = static_cast<MemoryKind>(pool.kind);
  if (kind == MemoryKind::ASHMEM || kind == MemoryKind::MMAP_FD) return okStatus();
  if (!pool.hardwareBuffer) return badData("a {} without description", memoryKindName(kind));
  const HardwareBufferDescription& buffer = *pool.hardwareBuffer;
  HALYARD_ASSIGN_OR_RETURN(const HardwareBufferLayout layout, layoutOf(buffer));
  const bool isBlob = buffer.format == kBlobFormat;
  if (isBlob != (kind == MemoryKind::HARDWARE_BUFFER_BLOB)) {
    return badData("a {} of format {:#x}", memoryKindName(kind), buffer.format);
  }
  if (isBlob && pool.size != buffer.width) {
    return badData("size {} of a hardware_buffer_blob that is {} bytes wide", pool.size,
                   buffer.width);
  }
  if (buffer.stride != layout.stride) {
    return badData("a hardware buffer with a stride of {} pixels, expected {}", buffer.stride,
                   layout.stride);
  }
  return okStatus();
}

Status checkNumbers(const PoolDescription& pool) {
  if (pool.kind > static_cast<uint32_t>(MemoryKind::HARDWARE_BUFFER)) {
    return badData("memory kind {} is unknown", pool.kind);
  }
  if ((pool.prot & ~(kWireProtRead | kWireProtWrite)) != 0 || pool.prot == 0) {
    return badData("protection {} is not a combination of 1 (read) and 2 (write)", pool.prot);
  }
  constexpr uint64_t kLimit = std::numeric_limits<int64_t>::max();
  if (pool.offset > kLimit || pool.size > kLimit - pool.offset) {
    return badData("offset {} and size {} are beyond any file", pool.offset, pool.size);
  }
  HALYARD_RETURN_IF_ERROR(checkPlace(pool));
  HALYARD_RETURN_IF_ERROR(checkHardwareBuffer(pool));
  if (!pool.fd.valid()) return badData("its file descriptor is missing");
  return okStatus();
}

// Returns true when the pool's file can never become shorter.
Result<bool> checkFile(const SharedMemory& pool) {
  HALYARD_ASSIGN_OR_RETURN(const FileFacts file, pool.examine());
  const bool isImage = pool.kind() == MemoryKind::HARDWARE_BUFFER;
  uint64_t size = pool.size();
  if (isImage) {
    if (pool.hardwareBuffer() == nullptr) return badData("a hardware_buffer without description");
    HALYARD_ASSIGN_OR_RETURN(const HardwareBufferLayout layout, layoutOf(*pool.hardwareBuffer()));
    size = layout.size;
  }
  if (pool.offset() > file.size || size > file.size - pool.offset()) {
    return badData("{} bytes at offset {} do not fit in a file of {} bytes", size, pool.offset(),
                   file.size);
  }
  if ((pool.prot() & PROT_WRITE) != 0) {
    if (!file.writable) {
      return badData("it is to be written, and its descriptor is open for reading only");
    }
    if (file.sealedForWriting) {
      return badData("it is to be written, and its file is sealed against writing");
    }
  }
  // An image cannot be copied for the driver, so its memory must not shrink.
  if (isImage && !file.cannotShrink) return badData("a hardware_buffer whose file could shrink");
  return file.cannotShrink;
}

int protOf(uint32_t wireProt) {
  return ((wireProt & kWireProtRead) != 0 ? PROT_READ : 0) |
         ((wireProt & kWireProtWrite) != 0 ? PROT_WRITE : 0);
}

Status writeNow(int fd, uint64_t position, std::span<const uint8_t> from) {
  for (size_t done = 0; done < from.size();) {
    const ssize_t count =
        ::pwrite(fd, from.data() + done, from.size() - done, static_cast<off_t>(position + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errnoStatus(ResultCode::BAD_DATA, errno, "writing shared memory");
    if (count == 0) {
      return badData("writing shared memory: the file ends after {} of {} bytes; was it truncated?",
                     done, from.size());
    }
    done += static_cast<size_t>(count);
  }
  return okStatus();
}

Status writeRange(int fd, uint64_t position, std::span<const uint8_t> from) {
  if (!couldBlock(fd)) return writeNow(fd, position, from);
  const auto copy = std::make_shared<std::vector<uint8_t>>(from.begin(), from.end());
  return withForeign(fd, [copy, position](int own) { return writeNow(own, position, *copy); });
}

}  // namespace

Result<SharedMemoryPtr> describePool(PoolDescription description) {
  HALYARD_RETURN_IF_ERROR(checkNumbers(description));
  return std::make_shared<const SharedMemory>(
      static_cast<MemoryKind>(description.kind), UniqueFd(description.fd.release()),
      static_cast<size_t>(description.size), protOf(description.prot), description.offset,
      description.hardwareBuffer);
}

Result<ReceivedPool> ReceivedPool::open(PoolDescription description) {
  HALYARD_ASSIGN_OR_RETURN(SharedMemoryPtr memory, describePool(std::move(description)));
  return inspect(std::move(memory));
}

Result<ReceivedPool> ReceivedPool::inspect(SharedMemoryPtr memory) {
  HALYARD_ASSIGN_OR_RETURN(const bool cannotShrink, checkFile(*memory));
  return ReceivedPool(std::move(memory), cannotShrink);
}

bool ReceivedPool::readable() const { return (memory_->prot() & PROT_READ) != 0; }
bool ReceivedPool::writable() const { return (memory_->prot() & PROT_WRITE) != 0; }

Status ReceivedPool::keepMapped() {
  if (!mappable_) return okStatus();
  HALYARD_ASSIGN_OR_RETURN(mapping_, memory_->mapped());
  return okStatus();
}

Status ReceivedPool::read(uint64_t offset, std::span<uint8_t> to) const {
  if (to.empty()) return okStatus();
  if (memory_->isDmaBuf()) {  // a dma-buf has no pread
    HALYARD_ASSIGN_OR_RETURN(const Mapping* const mapping, memory_->mapped());
    const CpuAccess access(memory_, false);
    std::memcpy(to.data(), mapping->data() + offset, to.size());
    return okStatus();
  }
  if (mapping_ != nullptr) {
    std::memcpy(to.data(), mapping_->data() + offset, to.size());
    return okStatus();
  }
  HALYARD_RETURN_IF_ERROR(readRange(memory_->fd(), memory_->offset() + offset, to),
                          "reading shared memory");
  return okStatus();
}

Status ReceivedPool::write(uint64_t offset, std::span<const uint8_t> from) const {
  if (from.empty()) return okStatus();
  if (memory_->isDmaBuf()) {
    HALYARD_ASSIGN_OR_RETURN(const Mapping* const mapping, memory_->mapped());
    const CpuAccess access(memory_, true);
    std::memcpy(mapping->data() + offset, from.data(), from.size());
    return okStatus();
  }
  if (mapping_ != nullptr) {
    std::memcpy(mapping_->data() + offset, from.data(), from.size());
    return okStatus();
  }
  return writeRange(memory_->fd(), memory_->offset() + offset, from);
}

uint64_t countDescriptors(const std::vector<PoolDescription>& descriptions) {
  return static_cast<uint64_t>(
      std::count_if(descriptions.begin(), descriptions.end(),
                    [](const PoolDescription& pool) { return pool.fd.valid(); }));
}

Result<std::vector<ReceivedPool>> openPools(std::vector<PoolDescription> descriptions,
                                            FeatureLevel level) {
  std::vector<ReceivedPool> pools;
  pools.reserve(descriptions.size());
  for (size_t i = 0; i < descriptions.size(); ++i) {
    HALYARD_ASSIGN_OR_RETURN(ReceivedPool pool, ReceivedPool::open(std::move(descriptions[i])),
                             "memory pool {}", i);
    const MemoryKind kind = pool.memory()->kind();
    if (level < FeatureLevel::FL3 && kind != MemoryKind::ASHMEM && kind != MemoryKind::MMAP_FD) {
      return badData("memory pool {}: {} memory needs HAL 1.2", i, memoryKindName(kind));
    }
    pools.push_back(std::move(pool));
  }
  return pools;
}

}  // namespace halyard::hal
