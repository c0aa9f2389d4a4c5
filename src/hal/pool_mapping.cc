#include "hal/pool_mapping.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <limits>

namespace halyard::hal {
namespace {

constexpr uint32_t kWireProtRead = 1;
constexpr uint32_t kWireProtWrite = 2;

Status checkNumbers(const PoolDescription& pool) {
  if (pool.kind > static_cast<uint32_t>(MemoryKind::HARDWARE_BUFFER)) {
    return badData("memory kind {} is unknown", pool.kind);
  }
  if (pool.kind == static_cast<uint32_t>(MemoryKind::HARDWARE_BUFFER)) {
    return badData("a hardware_buffer that is not a blob cannot be read by the CPU");
  }
  if ((pool.prot & ~(kWireProtRead | kWireProtWrite)) != 0 || pool.prot == 0) {
    return badData("protection {} is not a combination of 1 (read) and 2 (write)", pool.prot);
  }
  if (pool.size == 0) return badData("its size is 0");
  constexpr uint64_t kLimit = std::numeric_limits<int64_t>::max();
  if (pool.offset > kLimit || pool.size > kLimit - pool.offset) {
    return badData("offset {} and size {} are beyond any file", pool.offset, pool.size);
  }
  if (!pool.fd.valid()) return badData("its file descriptor is missing");
  return okStatus();
}

Status checkFile(const SharedMemory& pool) {
  struct stat st {};
  if (::fstat(pool.fd(), &st) != 0) return errnoStatus(ResultCode::BAD_DATA, errno, "fstat");
  if (!S_ISREG(st.st_mode)) return badData("its descriptor is not of a regular file");
  const auto fileSize = static_cast<uint64_t>(st.st_size);
  if (pool.offset() > fileSize || pool.size() > fileSize - pool.offset()) {
    return badData("{} bytes at offset {} do not fit in a file of {} bytes", pool.size(),
                   pool.offset(), fileSize);
  }
  const int flags = ::fcntl(pool.fd(), F_GETFL);
  if (flags < 0) return errnoStatus(ResultCode::BAD_DATA, errno, "F_GETFL");
  const int access = flags & O_ACCMODE;
  if ((flags & O_PATH) != 0 || access == O_WRONLY) {
    return badData("its descriptor is not open for reading");
  }
  if ((pool.prot() & PROT_WRITE) != 0 && access != O_RDWR) {
    return badData("it is to be written, and its descriptor is open for reading only");
  }
  return okStatus();
}

// The seals of a file in memory; 0 for any other. Files of hugetlbfs have seals as well, but an
// access can still fail there when the huge pages run out.
int memorySeals(int fd) {
  struct statfs fs {};
  if (::fstatfs(fd, &fs) != 0 || fs.f_type != TMPFS_MAGIC) return 0;
  const int seals = ::fcntl(fd, F_GET_SEALS);
  return seals < 0 ? 0 : seals;
}

int protOf(uint32_t wireProt) {
  return ((wireProt & kWireProtRead) != 0 ? PROT_READ : 0) |
         ((wireProt & kWireProtWrite) != 0 ? PROT_WRITE : 0);
}

// Moves all bytes with pread or pwrite, which may do part of it at a time.
template <typename Transfer>
Status transferAll(uint64_t position, size_t size, const char* what, Transfer transfer) {
  size_t done = 0;
  while (done < size) {
    const ssize_t count = transfer(done, size - done, static_cast<off_t>(position + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errnoStatus(ResultCode::BAD_DATA, errno, what);
    if (count == 0) {
      return badData("{}: the file ends after {} of {} bytes; was it truncated?", what, done, size);
    }
    done += static_cast<size_t>(count);
  }
  return okStatus();
}

}  // namespace

Result<SharedMemoryPtr> describePool(PoolDescription description) {
  HALYARD_RETURN_IF_ERROR(checkNumbers(description));
  return std::make_shared<const SharedMemory>(
      static_cast<MemoryKind>(description.kind), std::move(description.fd),
      static_cast<size_t>(description.size), protOf(description.prot), description.offset);
}

Result<ReceivedPool> ReceivedPool::open(PoolDescription description) {
  HALYARD_ASSIGN_OR_RETURN(SharedMemoryPtr memory, describePool(std::move(description)));
  return inspect(std::move(memory));
}

Result<ReceivedPool> ReceivedPool::inspect(SharedMemoryPtr memory) {
  HALYARD_RETURN_IF_ERROR(checkFile(*memory));
  const int seals = memorySeals(memory->fd());
  const bool writes = (memory->prot() & PROT_WRITE) != 0;
  if (writes && (seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE)) != 0) {
    return badData("it is to be written, and its file is sealed against writing");
  }
  return ReceivedPool(std::move(memory), (seals & F_SEAL_SHRINK) != 0);
}

bool ReceivedPool::readable() const { return (memory_->prot() & PROT_READ) != 0; }
bool ReceivedPool::writable() const { return (memory_->prot() & PROT_WRITE) != 0; }

Status ReceivedPool::read(uint64_t offset, std::span<uint8_t> to) const {
  return transferAll(memory_->offset() + offset, to.size(), "reading shared memory",
                     [&](size_t done, size_t left, off_t position) {
                       return ::pread(memory_->fd(), to.data() + done, left, position);
                     });
}

Status ReceivedPool::write(uint64_t offset, std::span<const uint8_t> from) const {
  return transferAll(memory_->offset() + offset, from.size(), "writing shared memory",
                     [&](size_t done, size_t left, off_t position) {
                       return ::pwrite(memory_->fd(), from.data() + done, left, position);
                     });
}

Result<std::vector<ReceivedPool>> openPools(std::vector<PoolDescription> descriptions) {
  std::vector<ReceivedPool> pools;
  pools.reserve(descriptions.size());
  for (size_t i = 0; i < descriptions.size(); ++i) {
    HALYARD_ASSIGN_OR_RETURN(ReceivedPool pool, ReceivedPool::open(std::move(descriptions[i])),
                             "memory pool {}", i);
    pools.push_back(std::move(pool));
  }
  return pools;
}

}  // namespace halyard::hal
