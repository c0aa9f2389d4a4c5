// Tests of the allocation of memory for hardware buffers.
#include "hardware_buffer/storage.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <string>

namespace halyard::hardware_buffer {
namespace {

using ::testing::HasSubstr;

constexpr Allocators kNone{"/nonexistent/heap", "/nonexistent/udmabuf"};

UniqueFd memfd(off_t size, int seals) {
  UniqueFd fd(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(::ftruncate(fd.get(), size), 0);
  EXPECT_EQ(::fcntl(fd.get(), F_ADD_SEALS, seals), 0);
  return fd;
}

TEST(HardwareBufferStorage, WithoutAllocatorsItIsASealedMemfd) {
  const Memory memory = allocateMemory(1000, kNone).value();
  EXPECT_EQ(memory.storage, Storage::MEMFD);
  EXPECT_EQ(::fcntl(memory.fd.get(), F_GET_SEALS), F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  struct stat st {};
  ASSERT_EQ(::fstat(memory.fd.get(), &st), 0);
  EXPECT_EQ(st.st_size, 1000);
}

TEST(HardwareBufferStorage, AllocatorsThatRefuseAreDoneWithout) {
  // These files can be opened, but do not support the calls.
  const Memory memory = allocateMemory(1000, {"/dev/null", "/dev/null"}).value();
  EXPECT_EQ(memory.storage, Storage::MEMFD);
}

TEST(HardwareBufferStorage, WhatTheMachineHasIsUsed) {
  const Memory memory = allocateMemory(1000).value();
  const bool heap = ::access("/dev/dma_heap/system", R_OK) == 0;
  const bool udmabuf = ::access("/dev/udmabuf", R_OK | W_OK) == 0;
  EXPECT_EQ(memory.storage, heap ? Storage::DMA_HEAP : udmabuf ? Storage::UDMABUF : Storage::MEMFD);
  // Another process accepts each kind of memory and can map it.
  const uint64_t id = memoryId(memory).value();
  const Memory adopted = adoptMemory(memory.fd.duplicate(), 1000, true).value();
  EXPECT_EQ(adopted.storage == Storage::MEMFD, memory.storage == Storage::MEMFD);
  EXPECT_EQ(memoryId(adopted).value(), id);
  void* const base = ::mmap(nullptr, 1000, PROT_READ | PROT_WRITE, MAP_SHARED, adopted.fd.get(), 0);
  ASSERT_NE(base, MAP_FAILED);
  EXPECT_EQ(static_cast<const uint8_t*>(base)[999], 0);
  ::munmap(base, 1000);
}

TEST(HardwareBufferStorage, TooMuchIsRefused) {
  EXPECT_EQ(allocateMemory(~uint64_t{0}, kNone).status().code(), ResultCode::OUT_OF_MEMORY);
}

TEST(HardwareBufferStorage, AdoptsOnlyWhatStays) {
  const auto refused = [](UniqueFd fd, const char* text, bool writable = false) {
    const auto adopted = adoptMemory(std::move(fd), 1000, writable);
    EXPECT_EQ(adopted.status().code(), ResultCode::BAD_DATA);
    EXPECT_THAT(adopted.status().message(), HasSubstr(text));
  };
  refused(memfd(1000, 0), "could shrink");
  refused(memfd(1000, F_SEAL_GROW), "could shrink");
  refused(memfd(999, F_SEAL_SHRINK), "memory of 999 bytes");
  refused(memfd(1000, F_SEAL_SHRINK | F_SEAL_FUTURE_WRITE), "read-only", true);
  refused(UniqueFd(::open("/dev/zero", O_RDWR | O_CLOEXEC)), "neither");
  refused(UniqueFd(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC)), "could shrink");
  refused(UniqueFd(::open("/", O_RDONLY | O_CLOEXEC)), "neither");
  refused(UniqueFd(::open("/", O_PATH | O_CLOEXEC)), "not open for reading");
  refused(UniqueFd(), "F_GETFL");
  const UniqueFd good = memfd(1000, F_SEAL_SHRINK);
  const std::string path = "/proc/self/fd/" + std::to_string(good.get());
  refused(UniqueFd(::open(path.c_str(), O_WRONLY | O_CLOEXEC)), "not open for reading");
  UniqueFd readOnly(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  refused(readOnly.duplicate(), "read-only", true);
  EXPECT_TRUE(adoptMemory(std::move(readOnly), 1000, false).ok());
  EXPECT_TRUE(adoptMemory(good.duplicate(), 1000, true).ok());
}

}  // namespace
}  // namespace halyard::hardware_buffer
