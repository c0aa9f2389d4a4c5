// struct AHardwareBuffer: the object behind the opaque pointer of the C API.
// Thread safety: that of the C API. Ownership: reference-counted. The object deletes itself with
// the last reference.
#pragma once

#include <android/hardware_buffer.h>

#include <atomic>
#include <mutex>

#include "base/process_generation.h"
#include "halyard/driver/hardware_buffer.h"
#include "halyard/driver/shared_memory.h"
#include "hardware_buffer/storage.h"

struct AHardwareBuffer final {
 public:
  // Makes a buffer with the layout `layout` in `memory`. Errors: OUT_OF_MEMORY, OP_FAILED.
  static halyard::Result<AHardwareBuffer*> make(const halyard::HardwareBufferDescription& asked,
                                                const halyard::HardwareBufferLayout& layout,
                                                halyard::hardware_buffer::Memory memory);
  AHardwareBuffer(const AHardwareBuffer&) = delete;
  AHardwareBuffer& operator=(const AHardwareBuffer&) = delete;

  void acquire() { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  // The description with the stride.
  const halyard::HardwareBufferDescription& description() const { return description_; }
  const halyard::HardwareBufferLayout& layout() const { return layout_; }
  const halyard::hardware_buffer::Memory& memory() const { return memory_; }
  uint64_t id() const { return id_; }

  // Returns the address of the first byte. BAD_STATE while a lock excludes this one, because at
  // least one of both is for writing. BAD_STATE also in a forked child for a buffer of its parent;
  // this also applies to unlock.
  halyard::Result<uint8_t*> lock(bool writes);
  // BAD_DATA when the buffer is not locked.
  halyard::Status unlock();

 private:
  AHardwareBuffer(const halyard::HardwareBufferDescription& description,
                  const halyard::HardwareBufferLayout& layout,
                  halyard::hardware_buffer::Memory memory, uint64_t id);
  ~AHardwareBuffer() = default;
  bool isDmaBuf() const { return memory_.storage != halyard::hardware_buffer::Storage::MEMFD; }

  std::atomic<uint32_t> references_ = 1;
  const halyard::HardwareBufferDescription description_;
  const halyard::HardwareBufferLayout layout_;
  const halyard::hardware_buffer::Memory memory_;
  const uint64_t id_;
  const halyard::ProcessStamp madeIn_;

  std::mutex mutex_;          // for the members below
  halyard::Mapping mapping_;  // made by the first lock
  unsigned readers_ = 0;
  bool written_ = false;  // locked by the only writer
};

namespace halyard::hardware_buffer {

// Returns 0, or the negative errno value for the status. Logs the text of an error as one of
// `function`.
int toErrno(const char* function, const Status& status);

}  // namespace halyard::hardware_buffer
