#include "hardware_buffer/buffer.h"

#include <sys/mman.h>

#include <cerrno>
#include <new>

#include "base/log.h"

using namespace halyard;  // NOLINT(google-build-using-namespace): the struct is global, being C's
using hardware_buffer::Memory;

AHardwareBuffer::AHardwareBuffer(const HardwareBufferDescription& description,
                                 const HardwareBufferLayout& layout, Memory memory, uint64_t id)
    : description_(description), layout_(layout), memory_(std::move(memory)), id_(id) {}

Result<AHardwareBuffer*> AHardwareBuffer::make(const HardwareBufferDescription& asked,
                                               const HardwareBufferLayout& layout, Memory memory) {
  HardwareBufferDescription description = asked;
  description.stride = layout.stride;
  HALYARD_ASSIGN_OR_RETURN(const uint64_t id, hardware_buffer::memoryId(memory));
  auto* const made = new (std::nothrow) AHardwareBuffer(description, layout, std::move(memory), id);
  if (made == nullptr) return Status(ResultCode::OUT_OF_MEMORY, "a hardware buffer's record");
  return made;
}

Result<uint8_t*> AHardwareBuffer::lock(bool writes) {
  HALYARD_RETURN_IF_ERROR(madeIn_.check("the hardware buffer"));
  const std::lock_guard guard(mutex_);
  if (written_ || (writes && readers_ != 0)) {
    return badState("the buffer is locked for {} already", written_ ? "writing" : "reading");
  }
  if (mapping_.size() == 0) {
    const auto size = static_cast<size_t>(layout_.size);
    // Memory of a buffer without CPU write usage may not be writable.
    const bool writable = (description_.usage & AHARDWAREBUFFER_USAGE_CPU_WRITE_MASK) != 0;
    void* const base = ::mmap(nullptr, size, PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED,
                              memory_.fd.get(), 0);
    if (base == MAP_FAILED) {
      return errnoStatus(ResultCode::OUT_OF_MEMORY, errno,
                         fmt::format("mapping a hardware buffer of {} bytes", size));
    }
    mapping_ = Mapping(base, size, 0, size);
  }
  if (isDmaBuf()) HALYARD_RETURN_IF_ERROR(syncDmaBuf(memory_.fd.get(), true, writes));
  written_ = writes;
  if (!writes) ++readers_;
  return mapping_.data();
}

Status AHardwareBuffer::unlock() {
  HALYARD_RETURN_IF_ERROR(madeIn_.check("the hardware buffer"));
  const std::lock_guard guard(mutex_);
  if (!written_ && readers_ == 0) return badData("the buffer is not locked");
  const bool wrote = written_;
  written_ = false;
  if (!wrote) --readers_;
  if (isDmaBuf()) return syncDmaBuf(memory_.fd.get(), false, wrote);
  return okStatus();
}

int hardware_buffer::toErrno(const char* function, const Status& status) {
  if (status.ok()) return 0;
  logWarning("{}: {}", function, status.message());
  switch (status.code()) {
    case ResultCode::OUT_OF_MEMORY:
      return -ENOMEM;
    case ResultCode::BAD_STATE:
      return -EBUSY;
    case ResultCode::BAD_DATA:
    case ResultCode::UNEXPECTED_NULL:
      return -EINVAL;
    default:
      return -EIO;
  }
}
