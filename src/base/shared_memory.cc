#include "halyard/driver/shared_memory.h"

#include <linux/dma-buf.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "base/file_facts.h"
#include "base/file_size_signal.h"
#include "base/foreign_fd.h"
#include "base/private_copy.h"

namespace halyard {
namespace {

// Bits of SharedMemory::known_. The last two apply to a known size.
constexpr uint8_t kDmaBufKnown = 1;
constexpr uint8_t kIsDmaBuf = 2;
constexpr uint8_t kShrinkKnown = 4;
constexpr uint8_t kCouldShrink = 8;
constexpr uint8_t kWritable = 16;
constexpr uint8_t kSealedForWriting = 32;

// A memory may be a file of another process, whose close can block.
std::shared_ptr<const UniqueFd> shared(UniqueFd fd) {
  return {new UniqueFd(std::move(fd)), [](UniqueFd* own) {
            if (own->valid()) closeForeign(own->release());
            delete own;
          }};
}

}  // namespace

std::string_view memoryKindName(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::ASHMEM:
      return "ashmem";
    case MemoryKind::MMAP_FD:
      return "mmap_fd";
    case MemoryKind::HARDWARE_BUFFER_BLOB:
      return "hardware_buffer_blob";
    case MemoryKind::HARDWARE_BUFFER:
      return "hardware_buffer";
  }
  return "unknown";
}

Mapping::Mapping(void* base, size_t baseLength, size_t skip, size_t size)
    : base_(base), baseLength_(baseLength), skip_(skip), size_(size) {}

Mapping::Mapping(Mapping&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)),
      baseLength_(std::exchange(other.baseLength_, 0)),
      skip_(std::exchange(other.skip_, 0)),
      size_(std::exchange(other.size_, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(baseLength_, other.baseLength_);
  std::swap(skip_, other.skip_);
  std::swap(size_, other.size_);
  return *this;
}

Mapping::~Mapping() {
  if (isOnHeap()) {
    std::free(base_);
  } else if (base_ != nullptr) {
    ::munmap(base_, baseLength_);
  }
}

Mapping Mapping::onHeap(size_t skip, size_t size) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  void* base = nullptr;
  if (size > SIZE_MAX - skip || ::posix_memalign(&base, page, skip + size) != 0) return {};
  std::memset(base, 0, skip + size);
  return Mapping(base, 0, skip, size);
}

Result<SharedMemoryPtr> SharedMemory::create(size_t size, const char* name) {
  if (size == 0) return badData("shared memory '{}': size is 0", name);
  if (size > static_cast<size_t>(std::numeric_limits<off_t>::max())) {
    return makeStatus(ResultCode::OUT_OF_MEMORY, "shared memory '{}' of {} bytes", name, size);
  }
  UniqueFd fd(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return errnoStatus(ResultCode::OUT_OF_MEMORY, errno, "memfd_create");
  const FileSizeSignalHeld held;
  if (::ftruncate(fd.get(), static_cast<off_t>(size)) != 0) {
    return errnoStatus(ResultCode::OUT_OF_MEMORY, errno,
                       fmt::format("shared memory '{}' of {} bytes", name, size));
  }
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return errnoStatus(ResultCode::OP_FAILED, errno, fmt::format("sealing memory '{}'", name));
  }
  auto memory = std::make_shared<const SharedMemory>(MemoryKind::ASHMEM, std::move(fd), size,
                                                     PROT_READ | PROT_WRITE, 0);
  FileFacts facts;
  facts.size = size;
  facts.writable = facts.cannotShrink = facts.isFixed = true;
  memory->keep(facts);
  return memory;
}

Result<SharedMemoryPtr> SharedMemory::fromFd(size_t size, int prot, int fd, uint64_t offset) {
  UniqueFd own(fd < 0 ? -1 : ::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!own.valid()) {
    return errnoStatus(ResultCode::OP_FAILED, fd < 0 ? EBADF : errno,
                       fmt::format("duplicating file descriptor {}", fd));
  }
  return std::make_shared<const SharedMemory>(MemoryKind::MMAP_FD, std::move(own), size, prot,
                                              offset);
}

Result<SharedMemoryPtr> SharedMemory::fromHardwareBuffer(
    const HardwareBufferDescription& description, int fd) {
  UniqueFd own(fd < 0 ? -1 : ::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!own.valid()) {
    return errnoStatus(ResultCode::OP_FAILED, fd < 0 ? EBADF : errno,
                       fmt::format("duplicating file descriptor {} of a hardware buffer", fd));
  }
  const bool isBlob = description.format == kBlobFormat;
  return std::make_shared<const SharedMemory>(
      isBlob ? MemoryKind::HARDWARE_BUFFER_BLOB : MemoryKind::HARDWARE_BUFFER, std::move(own),
      isBlob ? description.width : 0, PROT_READ | PROT_WRITE, 0, description);
}

SharedMemoryPtr SharedMemory::ofConstants(const SharedMemory& memory) {
  return SharedMemoryPtr(new SharedMemory(memory, true));
}

SharedMemoryPtr SharedMemory::ofConstants(const SharedMemory& memory, uint64_t offset,
                                          size_t size) {
  std::unique_ptr<SharedMemory> part(new SharedMemory(memory, true));
  part->kind_ = MemoryKind::MMAP_FD;
  part->size_ = size;
  part->prot_ = PROT_READ;
  part->offset_ += offset;
  return part;
}

SharedMemoryPtr SharedMemory::partOf(const SharedMemory& memory, uint64_t offset, size_t size) {
  std::unique_ptr<SharedMemory> part(new SharedMemory(memory, memory.isOfConstants_));
  part->kind_ = MemoryKind::MMAP_FD;
  part->size_ = size;
  part->offset_ += offset;
  return part;
}

SharedMemory::SharedMemory(MemoryKind kind, UniqueFd fd, size_t size, int prot, uint64_t offset,
                           std::optional<HardwareBufferDescription> hardwareBuffer)
    : kind_(kind),
      fd_(shared(std::move(fd))),
      size_(size),
      prot_(prot),
      offset_(offset),
      hardwareBuffer_(hardwareBuffer) {}

SharedMemory::SharedMemory(const SharedMemory& memory, bool isOfConstants)
    : kind_(memory.kind_),
      fd_(memory.fd_),
      size_(memory.size_),
      prot_(memory.prot_),
      offset_(memory.offset_),
      hardwareBuffer_(memory.hardwareBuffer_),
      isOfConstants_(isOfConstants),
      known_(memory.known_.load(std::memory_order_relaxed)),
      sealedSize_(memory.sealedSize_.load(std::memory_order_acquire)) {}

SharedMemory::~SharedMemory() {
  for (const Watcher& watcher : watchers_) {
    if (const auto owner = watcher.owner.lock()) watcher.onGone(*this);
  }
  delete mapping_.load();
}

void SharedMemory::whenGone(std::weak_ptr<const void> owner,
                            std::function<void(const SharedMemory&)> onGone) const {
  const std::lock_guard lock(watchersMutex_);
  std::erase_if(watchers_, [](const Watcher& watcher) { return watcher.owner.expired(); });
  for (const Watcher& watcher : watchers_) {
    if (!watcher.owner.owner_before(owner) && !owner.owner_before(watcher.owner)) return;
  }
  watchers_.push_back({std::move(owner), std::move(onGone)});
}

bool SharedMemory::isDmaBuf() const {
  if (kind_ == MemoryKind::ASHMEM) return false;
  uint8_t known = known_.load(std::memory_order_relaxed);
  if ((known & kDmaBufKnown) == 0) {
    known = kDmaBufKnown | (halyard::isDmaBuf(fd()) ? kIsDmaBuf : 0);
    known_.fetch_or(known, std::memory_order_relaxed);
  }
  return (known & kIsDmaBuf) != 0;
}

bool SharedMemory::couldShrink() const {
  // A file that cannot be examined could shrink.
  if ((known_.load(std::memory_order_relaxed) & kShrinkKnown) == 0 && !examine().ok()) return true;
  return (known_.load(std::memory_order_relaxed) & kCouldShrink) != 0;
}

void SharedMemory::keep(const FileFacts& file) const {
  const int known = kDmaBufKnown | kShrinkKnown | (file.isDmaBuf ? kIsDmaBuf : 0) |
                    (file.cannotShrink ? 0 : kCouldShrink) | (file.writable ? kWritable : 0) |
                    (file.sealedForWriting ? kSealedForWriting : 0);
  known_.fetch_or(static_cast<uint8_t>(known), std::memory_order_relaxed);
  if (file.isFixed) sealedSize_.store(file.size, std::memory_order_release);
}

Result<FileFacts> SharedMemory::examine() const {
  FileFacts file;
  file.size = sealedSize_.load(std::memory_order_acquire);
  if (file.size != 0) {
    const uint8_t known = known_.load(std::memory_order_relaxed);
    file.writable = (known & kWritable) != 0;
    file.sealedForWriting = (known & kSealedForWriting) != 0;
    file.cannotShrink = file.isFixed = true;
    return file;
  }
  HALYARD_ASSIGN_OR_RETURN(file, examineFile(fd()));
  keep(file);
  return file;
}

Result<const Mapping*> SharedMemory::mapped() const {
  if (const Mapping* known = mapping_.load(std::memory_order_acquire)) return known;
  HALYARD_ASSIGN_OR_RETURN(Mapping made, map());
  auto own = std::make_unique<const Mapping>(std::move(made));
  const Mapping* current = nullptr;
  // If two threads map at once, one mapping stays.
  if (mapping_.compare_exchange_strong(current, own.get())) return own.release();
  return current;
}

Status SharedMemory::unmappable(int error, std::string_view what) const {
  return errnoStatus(ResultCode::UNMAPPABLE, error,
                     fmt::format("{} memory of {} bytes at offset {} of file descriptor {}: {}",
                                 memoryKindName(kind_), size_, offset_, fd(), what));
}

Result<Mapping> SharedMemory::map() const {
  if (kind_ == MemoryKind::HARDWARE_BUFFER) {
    return makeStatus(ResultCode::UNMAPPABLE,
                      "a hardware buffer of format {:#x}, {} x {} pixels: only format BLOB is "
                      "memory to the CPU, others need a driver that takes them",
                      hardwareBuffer_ ? hardwareBuffer_->format : 0,
                      hardwareBuffer_ ? hardwareBuffer_->width : 0,
                      hardwareBuffer_ ? hardwareBuffer_->height : 0);
  }
  if (isOfConstants_ && couldShrink()) return copyBytes();
  return mapBytes(size_);
}

Result<Mapping> SharedMemory::mapHardwareBuffer() const {
  if (kind_ != MemoryKind::HARDWARE_BUFFER || !hardwareBuffer_) {
    return makeStatus(ResultCode::UNMAPPABLE, "{} memory is no image", memoryKindName(kind_));
  }
  HALYARD_ASSIGN_OR_RETURN(const HardwareBufferLayout layout, layoutOf(*hardwareBuffer_));
  return mapBytes(static_cast<size_t>(layout.size));
}

Result<Mapping> SharedMemory::mapBytes(size_t size) const {
  uint64_t fileSize = sealedSize_.load(std::memory_order_acquire);
  bool isFile = true;
  if (fileSize == 0) {
    struct stat st {};
    if (::fstat(fd(), &st) != 0) return unmappable(errno, "fstat");
    fileSize = static_cast<uint64_t>(st.st_size);
    isFile = S_ISREG(st.st_mode);
  }
  // st_size does not hold the sizes of devices; mmap itself checks them.
  if (isFile) {
    if (offset_ > fileSize || size > fileSize - offset_) {
      return makeStatus(ResultCode::UNMAPPABLE,
                        "{} memory of {} bytes at offset {}: the file has only {} bytes",
                        memoryKindName(kind_), size, offset_, fileSize);
    }
  }
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  const size_t skip = static_cast<size_t>(offset_ % page);
  // For files other than regular ones, nothing else limits the numbers.
  constexpr auto kMaxOffset = static_cast<uint64_t>(std::numeric_limits<off_t>::max());
  if (size > SIZE_MAX - skip || offset_ > kMaxOffset) return unmappable(EOVERFLOW, "mmap");
  void* base =
      ::mmap(nullptr, size + skip, prot_, MAP_SHARED, fd(), static_cast<off_t>(offset_ - skip));
  if (base == MAP_FAILED) return unmappable(errno, "mmap");
  return Mapping(base, size + skip, skip, size);
}

Result<Mapping> SharedMemory::copyBytes() const {
  if ((prot_ & PROT_READ) == 0) return unmappable(EACCES, "it may not be read");
  const ByteRange all{0, size_};
  return privateCopyOf(*this, {&all, 1});
}

CpuAccess::CpuAccess(SharedMemoryPtr memory, bool writes) : writes_(writes) {
  if (!memory->isDmaBuf()) return;
  // A dma-buf that refuses the start of access needs no call for its end.
  if (syncDmaBuf(memory->fd(), true, writes).ok()) memory_ = std::move(memory);
}

CpuAccess& CpuAccess::operator=(CpuAccess&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(writes_, other.writes_);
  return *this;
}

CpuAccess::~CpuAccess() {
  if (memory_ != nullptr) (void)syncDmaBuf(memory_->fd(), false, writes_);
}

bool isDmaBuf(int fd) {
  struct statfs fs {};
  return ::fstatfs(fd, &fs) == 0 && fs.f_type == DMA_BUF_MAGIC;
}

Status syncDmaBuf(int fd, bool begins, bool writes) {
  struct dma_buf_sync sync {};
  sync.flags = (begins ? DMA_BUF_SYNC_START : DMA_BUF_SYNC_END) |
               (writes ? DMA_BUF_SYNC_RW : DMA_BUF_SYNC_READ);
  int result = 0;
  do {
    result = ::ioctl(fd, DMA_BUF_IOCTL_SYNC, &sync);
  } while (result != 0 && (errno == EINTR || errno == EAGAIN));
  return result == 0 ? okStatus() : errnoStatus(ResultCode::OP_FAILED, errno, "DMA_BUF_IOCTL_SYNC");
}

}  // namespace halyard
