// Support for tests of hardware buffers: a handle, and helper functions.
// Thread safety: one thread at a time. Ownership: a handle has a reference.
#pragma once

#include <android/hardware_buffer.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <halyard/hardware_buffer.h>

#include <memory>

namespace halyard::hardware_buffer::testing {

struct Release {
  void operator()(AHardwareBuffer* buffer) const { AHardwareBuffer_release(buffer); }
};
using Buffer = std::unique_ptr<AHardwareBuffer, Release>;

inline constexpr uint64_t kReadWrite =
    uint64_t{AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN} | AHARDWAREBUFFER_USAGE_CPU_WRITE_OFTEN;
inline constexpr uint64_t kRead = AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN;
inline constexpr uint64_t kWrite = AHARDWAREBUFFER_USAGE_CPU_WRITE_OFTEN;

inline AHardwareBuffer_Desc describe(uint32_t format, uint32_t width, uint32_t height,
                                     uint64_t usage = kReadWrite) {
  return {width, height, 1, format, usage, 0, 0, 0};
}
inline Buffer allocate(const AHardwareBuffer_Desc& desc) {
  AHardwareBuffer* buffer = nullptr;
  EXPECT_EQ(AHardwareBuffer_allocate(&desc, &buffer), 0);
  return Buffer(buffer);
}
inline Buffer blob(uint32_t width, uint64_t usage = kReadWrite) {
  return allocate(describe(AHARDWAREBUFFER_FORMAT_BLOB, width, 1, usage));
}
inline uint8_t* lockBuffer(const Buffer& buffer, uint64_t usage) {
  void* address = nullptr;
  EXPECT_EQ(AHardwareBuffer_lock(buffer.get(), usage, -1, nullptr, &address), 0);
  return static_cast<uint8_t*>(address);
}
inline void unlockBuffer(const Buffer& buffer) {
  EXPECT_EQ(AHardwareBuffer_unlock(buffer.get(), nullptr), 0);
}

}  // namespace halyard::hardware_buffer::testing
