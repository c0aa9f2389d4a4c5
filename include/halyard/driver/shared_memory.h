// SharedMemory: a pool of memory named by a file descriptor, and Mapping: a view of it. Thread
// safety: SharedMemory does not change, to its users, and may be used from any thread. Ownership:
// SharedMemory owns a duplicate of its descriptor, together with those made by ofConstants. A
// Mapping owns its address range and does not need the SharedMemory to stay alive.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "halyard/driver/export.h"
#include "halyard/driver/hardware_buffer.h"
#include "halyard/driver/status.h"
#include "halyard/driver/unique_fd.h"

namespace halyard {

struct FileFacts;

// The kinds of pools of the NN HAL, named as on its wire.
enum class MemoryKind : uint8_t {
  ASHMEM,                // memory made by create(): one descriptor
  MMAP_FD,               // the caller's descriptor with protection and offset
  HARDWARE_BUFFER_BLOB,  // AHardwareBuffer, linear
  HARDWARE_BUFFER,       // AHardwareBuffer, opaque to the CPU
};
HALYARD_EXPORT std::string_view memoryKindName(MemoryKind kind);

// A mapped range, or a range of the heap in its place; unmapped or freed at destruction. Move only.
class HALYARD_EXPORT Mapping {
 public:
  Mapping() = default;
  // `size` bytes of the heap, zeros, `skip` bytes behind the beginning of a page. This is for
  // little memory, as making a mapping and its pages takes longer than most use of it. Null data
  // without memory.
  static Mapping onHeap(size_t skip, size_t size);
  Mapping(void* base, size_t baseLength, size_t skip, size_t size);
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping();

  uint8_t* data() const { return static_cast<uint8_t*>(base_) + skip_; }
  size_t size() const { return size_; }
  bool isOnHeap() const { return base_ != nullptr && baseLength_ == 0; }

 private:
  void* base_ = nullptr;   // page aligned, as mmap gave it, or of the heap
  size_t baseLength_ = 0;  // 0: of the heap
  size_t skip_ = 0;        // from base_ to the first byte of the pool
  size_t size_ = 0;
};

class HALYARD_EXPORT SharedMemory {
 public:
  // A new zeroed memfd of `size` bytes (> 0), sealed against shrinking and growing so that its
  // receiver can map it safely.
  static Result<std::shared_ptr<const SharedMemory>> create(size_t size, const char* name);
  // Describes `size` bytes at `offset` of the caller's descriptor, which is duplicated. `prot` is a
  // combination of PROT_READ and PROT_WRITE. Nothing is mapped yet: an unsuitable descriptor shows
  // itself as UNMAPPABLE in map().
  static Result<std::shared_ptr<const SharedMemory>> fromFd(size_t size, int prot, int fd,
                                                            uint64_t offset);
  // A duplicate of a hardware buffer's descriptor: HARDWARE_BUFFER_BLOB of as many bytes as it is
  // wide, or HARDWARE_BUFFER, of size 0.
  static Result<std::shared_ptr<const SharedMemory>> fromHardwareBuffer(
      const HardwareBufferDescription& description, int fd);
  // The same memory and descriptor, for users that read only constants. A file that becomes shorter
  // ends a process that reads its mapping. So if the file could become shorter, map() and mapped()
  // give a private copy of the bytes.
  static std::shared_ptr<const SharedMemory> ofConstants(const SharedMemory& memory);
  // The same of `size` bytes from `offset` on, which are in it, to be read only.
  static std::shared_ptr<const SharedMemory> ofConstants(const SharedMemory& memory,
                                                         uint64_t offset, size_t size);
  // `size` bytes from `offset` on, a multiple of a page, which are in the memory: with its
  // descriptor and protection.
  static std::shared_ptr<const SharedMemory> partOf(const SharedMemory& memory, uint64_t offset,
                                                    size_t size);
  // Takes over a descriptor received from a peer; checks nothing, see hal/pool_mapping.h.
  SharedMemory(MemoryKind kind, UniqueFd fd, size_t size, int prot, uint64_t offset,
               std::optional<HardwareBufferDescription> hardwareBuffer = std::nullopt);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  MemoryKind kind() const { return kind_; }
  int fd() const { return fd_->get(); }
  size_t size() const { return size_; }
  int prot() const { return prot_; }
  uint64_t offset() const { return offset_; }
  // The description of the two kinds of hardware buffers; null with other kinds.
  const HardwareBufferDescription* hardwareBuffer() const {
    return hardwareBuffer_ ? &*hardwareBuffer_ : nullptr;
  }
  // Whether the descriptor is a dma-buf: the CPU's accesses need a CpuAccess around them.
  bool isDmaBuf() const;
  // Whether it is a file that could become shorter. Asked of the kernel once: a seal stays.
  bool couldShrink() const;
  // The kernel's facts about the descriptor (base/file_facts.h): asked again only if they can
  // change.
  Result<FileFacts> examine() const;

  // Maps the whole pool shared, with the pool's protection; but see ofConstants. UNMAPPABLE when
  // that is impossible, when the file is shorter than the pool says, and for HARDWARE_BUFFER, whose
  // contents mean something to drivers only.
  Result<Mapping> map() const;
  // For drivers that take images: maps everything of a HARDWARE_BUFFER, which lies in it as
  // layoutOf its description says. UNMAPPABLE for other kinds.
  Result<Mapping> mapHardwareBuffer() const;
  // The same, mapped once for all callers and kept as long as this object lives.
  Result<const Mapping*> mapped() const;
  // Has `onGone` called when this object ends, unless `owner` has ended before. Once for an owner:
  // another call for the same does nothing. `onGone` runs on the thread that releases the last
  // reference, and must not block.
  void whenGone(std::weak_ptr<const void> owner,
                std::function<void(const SharedMemory&)> onGone) const;

 private:
  SharedMemory(const SharedMemory& memory, bool isOfConstants);
  void keep(const FileFacts& file) const;
  Status unmappable(int error, std::string_view what) const;
  Result<Mapping> mapBytes(size_t size) const;
  Result<Mapping> copyBytes() const;

  struct Watcher {
    std::weak_ptr<const void> owner;
    std::function<void(const SharedMemory&)> onGone;
  };
  MemoryKind kind_;
  std::shared_ptr<const UniqueFd> fd_;
  size_t size_;
  int prot_;
  uint64_t offset_;
  std::optional<HardwareBufferDescription> hardwareBuffer_;
  bool isOfConstants_ = false;
  // Permanent facts of the file: as bits, and bytes of a file whose size is sealed, or 0.
  mutable std::atomic<uint8_t> known_ = 0;
  mutable std::atomic<uint64_t> sealedSize_ = 0;
  mutable std::atomic<const Mapping*> mapping_ = nullptr;
  mutable std::mutex watchersMutex_;
  mutable std::vector<Watcher> watchers_;
};
using SharedMemoryPtr = std::shared_ptr<const SharedMemory>;

// The CPU reads (and writes) a memory's mapping while this lives. It informs a dma-buf's maker, for
// caches that are not coherent. It costs nothing with other memory. Move only.
class HALYARD_EXPORT CpuAccess {
 public:
  CpuAccess() = default;
  CpuAccess(SharedMemoryPtr memory, bool writes);
  CpuAccess(CpuAccess&& other) noexcept = default;
  CpuAccess& operator=(CpuAccess&& other) noexcept;
  ~CpuAccess();

 private:
  SharedMemoryPtr memory_;  // null when there is nothing to end
  bool writes_ = false;
};

// Whether `fd` is a dma-buf; false for any other value.
HALYARD_EXPORT bool isDmaBuf(int fd);
// Begins or ends the CPU's access to a dma-buf (DMA_BUF_IOCTL_SYNC). OP_FAILED when it refuses.
HALYARD_EXPORT Status syncDmaBuf(int fd, bool begins, bool writes);

}  // namespace halyard
