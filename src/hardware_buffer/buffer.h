// struct AHardwareBuffer: what the C API's opaque pointer points to.
// Thread safety: as the C API says. Ownership: counted; deletes itself with the last reference.
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
  // `memory` holds what `layout` says. OUT_OF_MEMORY.
  static halyard::Result<AHardwareBuffer*> make(const halyard::HardwareBufferDescription& asked,
                                                const halyard::HardwareBufferLayout& layout,
                                                halyard::hardware_buffer::Memory memory);
  AHardwareBuffer(const AHardwareBuffer&) = delete;
  AHardwareBuffer& operator=(const AHardwareBuffer&) = delete;

  void acquire() { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  // The stride filled in.
  const halyard::HardwareBufferDescription& description() const { return description_; }
  const halyard::HardwareBufferLayout& layout() const { return layout_; }
  const halyard::hardware_buffer::Memory& memory() const { return memory_; }
  uint64_t id() const { return id_; }

  // The address of the first byte. BAD_STATE while somebody else holds a lock of another kind, and
  // in a child of a fork for its parent's buffer; unlock likewise.
  halyard::Result<uint8_t*> lock(bool writes);
  // BAD_DATA when nobody holds a lock.
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

  std::mutex mutex_;          // for what follows
  halyard::Mapping mapping_;  // from the first lock on
  unsigned readers_ = 0;
  bool written_ = false;  // by the one writer
};

namespace halyard::hardware_buffer {

// 0, or the negative errno value for the status, whose text is logged as `function`'s.
int toErrno(const char* function, const Status& status);

}  // namespace halyard::hardware_buffer
