// AHardwareBuffer_*, except the functions for sockets.
#include <android/hardware_buffer.h>
#include <halyard/hardware_buffer.h>
#include <poll.h>

#include <cerrno>

#include "hardware_buffer/buffer.h"

using namespace halyard;  // NOLINT(google-build-using-namespace): entry points are global
using hardware_buffer::toErrno;

namespace {

Status checkNotNull(const void* pointer, const char* name) {
  return pointer == nullptr ? unexpectedNull("{} is null", name) : okStatus();
}

Result<HardwareBufferLayout> layoutOfDesc(const AHardwareBuffer_Desc& desc,
                                          HardwareBufferDescription* description) {
  if (desc.rfu0 != 0 || desc.rfu1 != 0) {
    return badData("rfu0 is {} and rfu1 {}, expected 0", desc.rfu0, desc.rfu1);
  }
  *description = {desc.width, desc.height, desc.layers, desc.format, desc.usage, 0};
  return layoutOf(*description);
}

Status allocate(const AHardwareBuffer_Desc* desc, AHardwareBuffer** outBuffer) {
  HALYARD_RETURN_IF_ERROR(checkNotNull(outBuffer, "outBuffer"));
  *outBuffer = nullptr;
  HALYARD_RETURN_IF_ERROR(checkNotNull(desc, "desc"));
  HardwareBufferDescription description;
  HALYARD_ASSIGN_OR_RETURN(const HardwareBufferLayout layout, layoutOfDesc(*desc, &description));
  HALYARD_ASSIGN_OR_RETURN(hardware_buffer::Memory memory,
                           hardware_buffer::allocateMemory(layout.size));
  HALYARD_ASSIGN_OR_RETURN(*outBuffer,
                           AHardwareBuffer::make(description, layout, std::move(memory)));
  return okStatus();
}

Status waitForFence(int fence) {
  if (fence < 0) return okStatus();
  pollfd waiting{fence, POLLIN, 0};
  int ready = 0;
  do {
    ready = ::poll(&waiting, 1, -1);
  } while (ready < 0 && errno == EINTR);
  if (ready < 0) return errnoStatus(ResultCode::OP_FAILED, errno, "waiting for the fence");
  if ((waiting.revents & POLLNVAL) != 0) return badData("the fence {} is not open", fence);
  if ((waiting.revents & POLLIN) == 0) return opFailed("the fence {} has failed", fence);
  return okStatus();
}

Status checkRect(const HardwareBufferDescription& buffer, const ARect* rect) {
  if (rect == nullptr) return okStatus();
  if (rect->left < 0 || rect->top < 0 || rect->left >= rect->right || rect->top >= rect->bottom ||
      static_cast<uint32_t>(rect->right) > buffer.width ||
      static_cast<uint32_t>(rect->bottom) > buffer.height) {
    return badData("the rectangle from ({}, {}) to ({}, {}) is not within {} x {}", rect->left,
                   rect->top, rect->right, rect->bottom, buffer.width, buffer.height);
  }
  return okStatus();
}

// The common code of the three lock functions. It takes the ownership of the fence.
Result<uint8_t*> lock(AHardwareBuffer* buffer, uint64_t usage, int fence, const ARect* rect) {
  const UniqueFd owned(fence);
  HALYARD_RETURN_IF_ERROR(checkNotNull(buffer, "buffer"));
  constexpr uint64_t kRead = AHARDWAREBUFFER_USAGE_CPU_READ_MASK;
  constexpr uint64_t kWrite = AHARDWAREBUFFER_USAGE_CPU_WRITE_MASK;
  const HardwareBufferDescription& description = buffer->description();
  if ((usage & (kRead | kWrite)) == 0 || (usage & ~(kRead | kWrite)) != 0) {
    return badData("usage {:#x}, expected CPU_READ and CPU_WRITE values only, and one of them",
                   usage);
  }
  if (((usage & kRead) != 0 && (description.usage & kRead) == 0) ||
      ((usage & kWrite) != 0 && (description.usage & kWrite) == 0)) {
    return badData("usage {:#x}, and the buffer was allocated for {:#x}", usage, description.usage);
  }
  HALYARD_RETURN_IF_ERROR(checkRect(description, rect));
  HALYARD_RETURN_IF_ERROR(waitForFence(owned.get()));
  return buffer->lock((usage & kWrite) != 0);
}

}  // namespace

int AHardwareBuffer_allocate(const AHardwareBuffer_Desc* desc, AHardwareBuffer** outBuffer) {
  return toErrno(__func__, allocate(desc, outBuffer));
}

void AHardwareBuffer_acquire(AHardwareBuffer* buffer) {
  if (buffer != nullptr) buffer->acquire();
}

void AHardwareBuffer_release(AHardwareBuffer* buffer) {
  if (buffer != nullptr) buffer->release();
}

void AHardwareBuffer_describe(const AHardwareBuffer* buffer, AHardwareBuffer_Desc* outDesc) {
  if (buffer == nullptr || outDesc == nullptr) return;
  const HardwareBufferDescription& from = buffer->description();
  *outDesc = {from.width, from.height, from.layers, from.format, from.usage, from.stride, 0, 0};
}

int AHardwareBuffer_lock(AHardwareBuffer* buffer, uint64_t usage, int32_t fence, const ARect* rect,
                         void** outVirtualAddress) {
  return AHardwareBuffer_lockAndGetInfo(buffer, usage, fence, rect, outVirtualAddress, nullptr,
                                        nullptr);
}

int AHardwareBuffer_lockAndGetInfo(AHardwareBuffer* buffer, uint64_t usage, int32_t fence,
                                   const ARect* rect, void** outVirtualAddress,
                                   int32_t* outBytesPerPixel, int32_t* outBytesPerStride) {
  if (outVirtualAddress == nullptr) {
    const UniqueFd owned(fence);
    return toErrno(__func__, checkNotNull(nullptr, "outVirtualAddress"));
  }
  *outVirtualAddress = nullptr;
  const Result<uint8_t*> locked = lock(buffer, usage, fence, rect);
  if (!locked.ok()) return toErrno(__func__, locked.status());
  *outVirtualAddress = locked.value();
  const HardwareBufferLayout& layout = buffer->layout();
  const bool isImage = layout.planeCount == 1;
  if (outBytesPerPixel != nullptr) {
    *outBytesPerPixel = isImage ? static_cast<int32_t>(layout.planes[0].pixelStride) : -1;
  }
  if (outBytesPerStride != nullptr) {
    *outBytesPerStride = isImage ? static_cast<int32_t>(layout.planes[0].rowStride) : -1;
  }
  return 0;
}

int AHardwareBuffer_lockPlanes(AHardwareBuffer* buffer, uint64_t usage, int32_t fence,
                               const ARect* rect, AHardwareBuffer_Planes* outPlanes) {
  Status wrong = checkNotNull(outPlanes, "outPlanes");
  if (wrong.ok()) {
    *outPlanes = {};
    if (buffer != nullptr && buffer->description().format == kBlobFormat) {
      wrong = badData("a buffer of format BLOB has no planes");
    }
  }
  if (!wrong.ok()) {
    const UniqueFd owned(fence);
    return toErrno(__func__, wrong);
  }
  const Result<uint8_t*> locked = lock(buffer, usage, fence, rect);
  if (!locked.ok()) return toErrno(__func__, locked.status());
  const HardwareBufferLayout& layout = buffer->layout();
  outPlanes->planeCount = layout.planeCount;
  for (unsigned i = 0; i < layout.planeCount; ++i) {
    const HardwareBufferPlane& plane = layout.planes[i];
    outPlanes->planes[i] = {locked.value() + plane.offset, plane.pixelStride, plane.rowStride};
  }
  return 0;
}

int AHardwareBuffer_unlock(AHardwareBuffer* buffer, int32_t* fence) {
  if (fence != nullptr) *fence = -1;
  Status status = checkNotNull(buffer, "buffer");
  if (status.ok()) status = buffer->unlock();
  return toErrno(__func__, status);
}

int AHardwareBuffer_isSupported(const AHardwareBuffer_Desc* desc) {
  HardwareBufferDescription description;
  return desc != nullptr && layoutOfDesc(*desc, &description).ok() ? 1 : 0;
}

int AHardwareBuffer_getId(const AHardwareBuffer* buffer, uint64_t* outId) {
  Status status = checkNotNull(buffer, "buffer");
  if (status.ok()) status = checkNotNull(outId, "outId");
  if (status.ok()) *outId = buffer->id();
  return toErrno(__func__, status);
}

const char* halyard_hardwareBufferStorage(const AHardwareBuffer* buffer) {
  return buffer == nullptr ? "" : hardware_buffer::storageName(buffer->memory().storage);
}

int halyard_hardwareBufferFd(const AHardwareBuffer* buffer) {
  return buffer == nullptr ? -1 : buffer->memory().fd.get();
}
