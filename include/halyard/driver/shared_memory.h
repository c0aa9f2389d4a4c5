// SharedMemory: a pool of memory named by a file descriptor, and Mapping: a view of it.
// Thread safety: SharedMemory does not change, to its users, and may be used from any thread.
// Ownership: SharedMemory owns a duplicate of its descriptor; a Mapping owns its address range and
// does not need the SharedMemory to stay alive.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "halyard/driver/status.h"
#include "halyard/driver/unique_fd.h"

namespace halyard {

// The kinds of pools of the NN HAL, named as on its wire.
enum class MemoryKind : uint8_t {
  ASHMEM,                // memory made by create(): one descriptor
  MMAP_FD,               // the caller's descriptor with protection and offset
  HARDWARE_BUFFER_BLOB,  // AHardwareBuffer, linear
  HARDWARE_BUFFER,       // AHardwareBuffer, opaque to the CPU
};
std::string_view memoryKindName(MemoryKind kind);

// A mapped range; unmapped at destruction. Move only.
class Mapping {
 public:
  Mapping() = default;
  Mapping(void* base, size_t baseLength, size_t skip, size_t size);
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping();

  uint8_t* data() const { return static_cast<uint8_t*>(base_) + skip_; }
  size_t size() const { return size_; }

 private:
  void* base_ = nullptr;  // page aligned, as mmap gave it
  size_t baseLength_ = 0;
  size_t skip_ = 0;  // from base_ to the first byte of the pool
  size_t size_ = 0;
};

class SharedMemory {
 public:
  // A new zeroed memfd of `size` bytes (> 0), sealed against shrinking and growing so that its
  // receiver can map it without fear.
  static Result<std::shared_ptr<const SharedMemory>> create(size_t size, const char* name);
  // Describes `size` bytes at `offset` of the caller's descriptor, which is duplicated. `prot` is a
  // combination of PROT_READ and PROT_WRITE. Nothing is mapped yet: an unsuitable descriptor shows
  // itself as UNMAPPABLE in map().
  static Result<std::shared_ptr<const SharedMemory>> fromFd(size_t size, int prot, int fd,
                                                            uint64_t offset);
  // Takes over a descriptor received from a peer; checks nothing, see hal/pool_mapping.h.
  SharedMemory(MemoryKind kind, UniqueFd fd, size_t size, int prot, uint64_t offset);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  MemoryKind kind() const { return kind_; }
  int fd() const { return fd_.get(); }
  size_t size() const { return size_; }
  int prot() const { return prot_; }
  uint64_t offset() const { return offset_; }

  // Maps the whole pool shared, with the pool's protection. UNMAPPABLE when that is impossible, and
  // when the file is shorter than the pool says.
  Result<Mapping> map() const;
  // The same, mapped once for all callers and kept as long as this object lives.
  Result<const Mapping*> mapped() const;

 private:
  MemoryKind kind_;
  UniqueFd fd_;
  size_t size_;
  int prot_;
  uint64_t offset_;
  mutable std::atomic<const Mapping*> mapping_ = nullptr;
};
using SharedMemoryPtr = std::shared_ptr<const SharedMemory>;

}  // namespace halyard
