// Memory: a memory of the C API. Host memory is mapped and has a view; memory of a device has none.
// HeldBuffer: the bytes of a Python object, such as a NumPy array, while this object lives.
// Thread safety: Memory: as the C API. HeldBuffer: make and destroy it with the GIL held.
// Ownership: Memory owns the memory and its mapping. HeldBuffer keeps the Python object alive.
#pragma once

#include <nanobind/nanobind.h>
#include <sys/mman.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "client/nnapi.h"
#include "halyard/driver/shared_memory.h"
#include "halyard/driver/status.h"

namespace halyard::python {

class HeldBuffer {
 public:
  // Throws BufferError if the object offers no contiguous bytes, or if they must be writable and
  // are not.
  HeldBuffer(nanobind::handle object, bool writable);
  ~HeldBuffer() { PyBuffer_Release(&view_); }
  HeldBuffer(const HeldBuffer&) = delete;
  HeldBuffer& operator=(const HeldBuffer&) = delete;

  void* data() const { return view_.buf; }
  size_t size() const { return static_cast<size_t>(view_.len); }

 private:
  Py_buffer view_ = {};
};

class Memory {
 public:
  // Zeroed memory that processes can share.
  static Result<std::shared_ptr<Memory>> allocate(size_t size);
  // A part of a file, a memfd or a dma-buf. The descriptor is duplicated.
  static Result<std::shared_ptr<Memory>> fromFd(int fd, size_t size, int protection,
                                                uint64_t offset);
  // Memory for the roles of a description.
  static Result<std::shared_ptr<Memory>> fromDescription(const client::MemoryDesc& description);

  const ANeuralNetworksMemory* handle() const { return memory_.get(); }
  // Empty for memory of a device.
  std::span<uint8_t> bytes() const {
    return mapping_ ? std::span(mapping_->data(), mapping_->size()) : std::span<uint8_t>();
  }
  // Whether bytes() may be written.
  bool isWritable() const { return shared_ && (shared_->prot() & PROT_WRITE) != 0; }
  // The descriptor of host memory, borrowed.
  std::optional<int> fd() const { return shared_ ? std::optional(shared_->fd()) : std::nullopt; }
  // Copies everything; the memories have equal sizes.
  Status copyTo(const Memory& other) const;

 private:
  static Result<std::shared_ptr<Memory>> mapped(std::shared_ptr<const SharedMemory> shared);

  std::shared_ptr<const SharedMemory> shared_;
  std::optional<Mapping> mapping_;
  client::Memory memory_;
};

}  // namespace halyard::python
