// Tests of AHardwareBuffer: allocation, description, locks.
#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "hardware_buffer/buffer_for_test.h"

namespace halyard::hardware_buffer::testing {
namespace {

constexpr uint32_t kRgba = AHARDWAREBUFFER_FORMAT_R8G8B8A8_UNORM;

TEST(HardwareBuffer, TellsWhatItIs) {
  const Buffer image = allocate(describe(kRgba, 33, 5));
  AHardwareBuffer_Desc desc{};
  AHardwareBuffer_describe(image.get(), &desc);
  EXPECT_EQ(desc.width, 33u);
  EXPECT_EQ(desc.height, 5u);
  EXPECT_EQ(desc.layers, 1u);
  EXPECT_EQ(desc.format, kRgba);
  EXPECT_EQ(desc.usage, kReadWrite);
  EXPECT_EQ(desc.stride, 48u);
  EXPECT_EQ(desc.rfu0, 0u);
  EXPECT_EQ(desc.rfu1, 0u);
  EXPECT_THAT(halyard_hardwareBufferStorage(image.get()),
              ::testing::AnyOf(::testing::StrEq("dma_heap"), ::testing::StrEq("udmabuf"),
                               ::testing::StrEq("memfd")));
  EXPECT_GE(::fcntl(halyard_hardwareBufferFd(image.get()), F_GETFD) & FD_CLOEXEC, 1);
}

TEST(HardwareBuffer, IdsAreUnique) {
  std::vector<Buffer> buffers;
  std::set<uint64_t> ids;
  for (int i = 0; i < 100; ++i) {
    buffers.push_back(blob(10));
    uint64_t id = 0;
    ASSERT_EQ(AHardwareBuffer_getId(buffers.back().get(), &id), 0);
    EXPECT_TRUE(ids.insert(id).second);
    uint64_t again = 0;
    ASSERT_EQ(AHardwareBuffer_getId(buffers.back().get(), &again), 0);
    EXPECT_EQ(again, id);
  }
  uint64_t id = 0;
  EXPECT_EQ(AHardwareBuffer_getId(nullptr, &id), -EINVAL);
  EXPECT_EQ(AHardwareBuffer_getId(buffers[0].get(), nullptr), -EINVAL);
}

TEST(HardwareBuffer, AllocationAndSupportAgree) {
  AHardwareBuffer_Desc good = describe(kRgba, 8, 8);
  EXPECT_EQ(AHardwareBuffer_isSupported(&good), 1);
  std::vector<AHardwareBuffer_Desc> bad(6, good);
  bad[0].width = 0;
  bad[1].format = 0x7777;
  bad[2].usage = AHARDWAREBUFFER_USAGE_PROTECTED_CONTENT;
  bad[3].rfu0 = 1;
  bad[4].rfu1 = 1;
  bad[5].format = AHARDWAREBUFFER_FORMAT_BLOB;  // which requires height 1; here it is 8
  for (const AHardwareBuffer_Desc& desc : bad) {
    EXPECT_EQ(AHardwareBuffer_isSupported(&desc), 0);
    AHardwareBuffer* buffer = reinterpret_cast<AHardwareBuffer*>(&good);
    EXPECT_EQ(AHardwareBuffer_allocate(&desc, &buffer), -EINVAL);
    EXPECT_EQ(buffer, nullptr);
  }
  EXPECT_EQ(AHardwareBuffer_isSupported(nullptr), 0);
  EXPECT_EQ(AHardwareBuffer_allocate(&good, nullptr), -EINVAL);
  AHardwareBuffer* buffer = nullptr;
  EXPECT_EQ(AHardwareBuffer_allocate(nullptr, &buffer), -EINVAL);
  AHardwareBuffer_acquire(nullptr);
  AHardwareBuffer_release(nullptr);
  AHardwareBuffer_describe(nullptr, &good);
  EXPECT_EQ(good.width, 8u);
}

TEST(HardwareBuffer, LivesUntilTheLastReference) {
  Buffer buffer = blob(4096);
  const int fd = halyard_hardwareBufferFd(buffer.get());
  AHardwareBuffer_acquire(buffer.get());
  AHardwareBuffer_release(buffer.get());
  std::memset(lockBuffer(buffer, kWrite), 7, 4096);
  unlockBuffer(buffer);
  EXPECT_EQ(lockBuffer(buffer, kRead)[4095], 7);
  unlockBuffer(buffer);
  EXPECT_GE(::fcntl(fd, F_GETFD), 0);
  buffer.reset();
  EXPECT_EQ(::fcntl(fd, F_GETFD), -1);
}

TEST(HardwareBuffer, ReferencesAreCountedAcrossThreads) {
  const Buffer buffer = blob(64);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        AHardwareBuffer_acquire(buffer.get());
        void* address = nullptr;
        EXPECT_EQ(AHardwareBuffer_lock(buffer.get(), kRead, -1, nullptr, &address), 0);
        EXPECT_EQ(*static_cast<const uint8_t*>(address), 0);
        EXPECT_EQ(AHardwareBuffer_unlock(buffer.get(), nullptr), 0);
        AHardwareBuffer_release(buffer.get());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(AHardwareBuffer_unlock(buffer.get(), nullptr), -EINVAL);
}

TEST(HardwareBuffer, ManyReadersOrOneWriter) {
  const Buffer buffer = blob(64);
  void* address = nullptr;
  uint8_t* const first = lockBuffer(buffer, kRead);
  EXPECT_EQ(lockBuffer(buffer, kRead), first);
  EXPECT_EQ(AHardwareBuffer_lock(buffer.get(), kWrite, -1, nullptr, &address), -EBUSY);
  EXPECT_EQ(address, nullptr);
  unlockBuffer(buffer);
  EXPECT_EQ(AHardwareBuffer_lock(buffer.get(), kWrite, -1, nullptr, &address), -EBUSY);
  unlockBuffer(buffer);
  lockBuffer(buffer, kReadWrite);
  EXPECT_EQ(AHardwareBuffer_lock(buffer.get(), kRead, -1, nullptr, &address), -EBUSY);
  int32_t fence = 77;
  EXPECT_EQ(AHardwareBuffer_unlock(buffer.get(), &fence), 0);
  EXPECT_EQ(fence, -1);
  EXPECT_EQ(AHardwareBuffer_unlock(buffer.get(), &fence), -EINVAL);
}

TEST(HardwareBuffer, LockRefusesWhatTheBufferIsNotFor) {
  const Buffer readable = blob(64, kRead);
  void* address = nullptr;
  const auto tryLock = [&](const Buffer& buffer, uint64_t usage, const ARect* rect = nullptr) {
    const int result = AHardwareBuffer_lock(buffer.get(), usage, -1, rect, &address);
    if (result == 0) unlockBuffer(buffer);
    return result;
  };
  EXPECT_EQ(tryLock(readable, kRead), 0);
  EXPECT_EQ(tryLock(readable, kWrite), -EINVAL);
  EXPECT_EQ(tryLock(readable, 0), -EINVAL);
  EXPECT_EQ(tryLock(readable, kRead | AHARDWAREBUFFER_USAGE_GPU_DATA_BUFFER), -EINVAL);
  EXPECT_EQ(tryLock(Buffer(), kRead), -EINVAL);
  EXPECT_EQ(AHardwareBuffer_lock(readable.get(), kRead, -1, nullptr, nullptr), -EINVAL);

  const Buffer image = allocate(describe(kRgba, 10, 20));
  for (const ARect& rect : {ARect{-1, 0, 5, 5}, ARect{0, -1, 5, 5}, ARect{0, 0, 11, 5},
                            ARect{0, 0, 5, 21}, ARect{5, 5, 5, 6}, ARect{5, 5, 6, 5}}) {
    EXPECT_EQ(tryLock(image, kRead, &rect), -EINVAL);
  }
  const ARect whole{0, 0, 10, 20};
  EXPECT_EQ(tryLock(image, kRead, &whole), 0);
}

TEST(HardwareBuffer, InfoAndPlanes) {
  const Buffer image = allocate(describe(kRgba, 33, 5));
  void* address = nullptr;
  int32_t bytesPerPixel = 0;
  int32_t bytesPerStride = 0;
  ASSERT_EQ(AHardwareBuffer_lockAndGetInfo(image.get(), kWrite, -1, nullptr, &address,
                                           &bytesPerPixel, &bytesPerStride),
            0);
  EXPECT_EQ(bytesPerPixel, 4);
  EXPECT_EQ(bytesPerStride, 192);
  std::memset(address, 0xff, 5 * 192);  // up to the last byte
  unlockBuffer(image);
  AHardwareBuffer_Planes planes{};
  ASSERT_EQ(AHardwareBuffer_lockPlanes(image.get(), kRead, -1, nullptr, &planes), 0);
  EXPECT_EQ(planes.planeCount, 1u);
  EXPECT_EQ(planes.planes[0].data, address);
  EXPECT_EQ(planes.planes[0].rowStride, 192u);
  unlockBuffer(image);

  const Buffer yuv = allocate(describe(AHARDWAREBUFFER_FORMAT_Y8Cb8Cr8_420, 65, 5));
  ASSERT_EQ(AHardwareBuffer_lockPlanes(yuv.get(), kReadWrite, -1, nullptr, &planes), 0);
  ASSERT_EQ(planes.planeCount, 3u);
  EXPECT_EQ(planes.planes[1].rowStride, 64u);
  auto* const last = static_cast<uint8_t*>(planes.planes[2].data) + 3 * 64 - 1;
  *last = 9;
  EXPECT_EQ(last - static_cast<uint8_t*>(planes.planes[0].data), 5 * 128 + 2 * 3 * 64 - 1);
  unlockBuffer(yuv);
  ASSERT_EQ(AHardwareBuffer_lockAndGetInfo(yuv.get(), kRead, -1, nullptr, &address, &bytesPerPixel,
                                           &bytesPerStride),
            0);
  EXPECT_EQ(bytesPerPixel, -1);
  EXPECT_EQ(bytesPerStride, -1);
  unlockBuffer(yuv);

  const Buffer bytes = blob(8);
  EXPECT_EQ(AHardwareBuffer_lockPlanes(bytes.get(), kRead, -1, nullptr, &planes), -EINVAL);
  EXPECT_EQ(AHardwareBuffer_lockPlanes(image.get(), kRead, -1, nullptr, nullptr), -EINVAL);
  EXPECT_EQ(AHardwareBuffer_lockPlanes(nullptr, kRead, -1, nullptr, &planes), -EINVAL);
}

TEST(HardwareBuffer, LockWaitsForItsFenceAndClosesIt) {
  const Buffer buffer = blob(8);
  const int fence = ::eventfd(0, EFD_CLOEXEC);
  const int signal = ::dup(fence);
  std::atomic<bool> signalled = false;
  std::thread signaller([&] {
    signalled = true;
    const uint64_t one = 1;
    EXPECT_EQ(::write(signal, &one, sizeof one), 8);
  });
  void* address = nullptr;
  EXPECT_EQ(AHardwareBuffer_lock(buffer.get(), kRead, fence, nullptr, &address), 0);
  EXPECT_TRUE(signalled);
  signaller.join();
  EXPECT_EQ(::fcntl(fence, F_GETFD), -1) << "the fence is still open";
  ::close(signal);
  unlockBuffer(buffer);

  // A refused lock still closes the fence.
  const int unused = ::eventfd(0, EFD_CLOEXEC);
  EXPECT_EQ(AHardwareBuffer_lock(buffer.get(), 0, unused, nullptr, &address), -EINVAL);
  EXPECT_EQ(::fcntl(unused, F_GETFD), -1);
  const int another = ::eventfd(0, EFD_CLOEXEC);
  EXPECT_EQ(AHardwareBuffer_lock(buffer.get(), kRead, another, nullptr, nullptr), -EINVAL);
  EXPECT_EQ(::fcntl(another, F_GETFD), -1);
  // The fence ends without a signal, because the write end of the pipe is closed.
  int pipe[2];
  ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
  ::close(pipe[1]);
  EXPECT_EQ(AHardwareBuffer_lock(buffer.get(), kRead, pipe[0], nullptr, &address), -EIO);
  EXPECT_EQ(AHardwareBuffer_unlock(buffer.get(), nullptr), -EINVAL);
}

}  // namespace
}  // namespace halyard::hardware_buffer::testing
