// Tests of pools received from an untrusted peer.
#include "hal/checks/pool_mapping.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <limits>

namespace halyard::hal {
namespace {

using ::testing::HasSubstr;

UniqueFd memfd(off_t size, int seals = 0) {
  UniqueFd fd(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(::ftruncate(fd.get(), size), 0);
  EXPECT_EQ(::fcntl(fd.get(), F_ADD_SEALS, seals), 0);
  return fd;
}

PoolDescription describe(UniqueFd fd, uint64_t size, uint64_t offset = 0, uint32_t prot = 3) {
  PoolDescription pool;
  pool.kind = static_cast<uint32_t>(MemoryKind::MMAP_FD);
  pool.size = size;
  pool.prot = prot;
  pool.offset = offset;
  pool.fd = std::move(fd);
  return pool;
}

std::string errorOf(PoolDescription pool) {
  const auto opened = ReceivedPool::open(std::move(pool));
  EXPECT_EQ(opened.status().code(), ResultCode::BAD_DATA);
  return opened.status().message();
}

TEST(ReceivedPoolTest, OnlyMemoryThatCannotShrinkIsMappable) {
  auto sealed = ReceivedPool::open(describe(memfd(100, F_SEAL_SHRINK), 100));
  ASSERT_TRUE(sealed.ok()) << sealed.status().toString();
  EXPECT_TRUE(sealed->mappable());
  auto open = ReceivedPool::open(describe(memfd(100), 100));
  ASSERT_TRUE(open.ok());
  EXPECT_FALSE(open->mappable());
  auto onlyGrow = ReceivedPool::open(describe(memfd(100, F_SEAL_GROW), 100));
  ASSERT_TRUE(onlyGrow.ok());
  EXPECT_FALSE(onlyGrow->mappable());
  char name[] = "/tmp/halyard_pool_test_XXXXXX";
  UniqueFd file(::mkstemp(name));
  ASSERT_TRUE(file.valid());
  ::unlink(name);
  ASSERT_EQ(::ftruncate(file.get(), 10), 0);
  auto regular = ReceivedPool::open(describe(std::move(file), 10));
  ASSERT_TRUE(regular.ok());
  EXPECT_FALSE(regular->mappable());
}

TEST(ReceivedPoolTest, RefusesWrongNumbers) {
  constexpr uint64_t kHuge = std::numeric_limits<uint64_t>::max();
  EXPECT_THAT(errorOf(describe(memfd(100), 101)), HasSubstr("do not fit"));
  const uint64_t page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  EXPECT_THAT(errorOf(describe(memfd(4 * 4096), 4 * 4096 - page + 1, page)),
              HasSubstr("do not fit"));
  EXPECT_TRUE(ReceivedPool::open(describe(memfd(4 * 4096), 4 * 4096 - page, page)).ok());
  EXPECT_THAT(errorOf(describe(memfd(100), 1, 16 * page)), HasSubstr("do not fit"));
  EXPECT_THAT(errorOf(describe(memfd(100), 50, 16)), HasSubstr("multiple of the page size"));
  EXPECT_THAT(errorOf(describe(memfd(4 * 4096), 50, page - 1)),
              HasSubstr("multiple of the page size"));
  EXPECT_THAT(errorOf(describe(memfd(100), kHuge)), HasSubstr("beyond any file"));
  EXPECT_THAT(errorOf(describe(memfd(100), 1, kHuge)), HasSubstr("beyond any file"));
  EXPECT_THAT(errorOf(describe(memfd(100), uint64_t{1} << 62, uint64_t{1} << 62)),
              HasSubstr("beyond any file"));
  EXPECT_THAT(errorOf(describe(memfd(100), 0)), HasSubstr("size is 0"));
  EXPECT_THAT(errorOf(describe(memfd(100), 10, 0, 4)), HasSubstr("protection 4"));
  EXPECT_THAT(errorOf(describe(memfd(100), 10, 0, 0)), HasSubstr("protection 0"));
  PoolDescription strange = describe(memfd(100), 10);
  strange.kind = 9;
  EXPECT_THAT(errorOf(std::move(strange)), HasSubstr("kind 9"));
  PoolDescription own = describe(memfd(4 * 4096), 10, page);
  own.kind = static_cast<uint32_t>(MemoryKind::ASHMEM);
  EXPECT_THAT(errorOf(std::move(own)), HasSubstr("expected 0 with ashmem"));
}

TEST(ReceivedPoolTest, RefusesWrongDescriptors) {
  EXPECT_THAT(errorOf(describe(UniqueFd(), 10)), HasSubstr("missing"));
  int pipe[2];
  ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
  EXPECT_THAT(errorOf(describe(UniqueFd(pipe[0]), 10)), HasSubstr("regular file"));
  ::close(pipe[1]);
  for (const char* path : {"/dev/null", "/dev/zero", "/"}) {
    EXPECT_THAT(errorOf(describe(UniqueFd(::open(path, O_RDONLY | O_CLOEXEC)), 10, 0, 1)),
                HasSubstr("regular file"))
        << path;
  }
  EXPECT_THAT(errorOf(describe(UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)), 10)),
              HasSubstr("regular file"));
  EXPECT_THAT(errorOf(describe(UniqueFd(::eventfd(0, EFD_CLOEXEC)), 10)),
              HasSubstr("regular file"));
  EXPECT_THAT(errorOf(describe(UniqueFd(::open("/", O_PATH | O_CLOEXEC)), 10, 0, 1)),
              HasSubstr("not open for reading"));
  const std::string path = "/tmp/halyard_pool_test_" + std::to_string(::getpid());
  UniqueFd both(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(::ftruncate(both.get(), 10), 0);
  UniqueFd readOnly(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  UniqueFd writeOnly(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  UniqueFd pathOnly(::open(path.c_str(), O_PATH | O_CLOEXEC));
  ::unlink(path.c_str());
  EXPECT_TRUE(ReceivedPool::open(describe(readOnly.duplicate(), 10, 0, 1)).ok());
  EXPECT_THAT(errorOf(describe(std::move(readOnly), 10, 0, 3)), HasSubstr("reading only"));
  EXPECT_THAT(errorOf(describe(std::move(writeOnly), 10, 0, 3)), HasSubstr("not open for reading"));
  EXPECT_THAT(errorOf(describe(std::move(pathOnly), 10, 0, 1)), HasSubstr("not open for reading"));
  EXPECT_THAT(errorOf(describe(memfd(10, F_SEAL_WRITE), 10)), HasSubstr("sealed against writing"));
  EXPECT_THAT(errorOf(describe(memfd(10, F_SEAL_FUTURE_WRITE), 10)),
              HasSubstr("sealed against writing"));
  auto sealed = ReceivedPool::open(describe(memfd(10, F_SEAL_WRITE | F_SEAL_SHRINK), 10, 0, 1));
  ASSERT_TRUE(sealed.ok()) << sealed.status().toString();
  EXPECT_TRUE(sealed->mappable());
  EXPECT_TRUE(sealed->memory()->map().ok());
}

PoolDescription describeBuffer(UniqueFd fd, HardwareBufferDescription buffer) {
  PoolDescription pool;
  const bool isBlob = buffer.format == kBlobFormat;
  pool.kind = static_cast<uint32_t>(isBlob ? MemoryKind::HARDWARE_BUFFER_BLOB
                                           : MemoryKind::HARDWARE_BUFFER);
  pool.size = isBlob ? buffer.width : 0;
  pool.prot = 3;
  pool.fd = std::move(fd);
  pool.hardwareBuffer = buffer;
  return pool;
}

constexpr HardwareBufferDescription kBlob{100, 1, 1, kBlobFormat, 0x33, 100};
constexpr HardwareBufferDescription kImage{33, 5, 1, 1, 0x33, 48};  // R8G8B8A8, 960 bytes

TEST(ReceivedPoolTest, BlobIsMemory) {
  auto blob = ReceivedPool::open(describeBuffer(memfd(100, F_SEAL_SHRINK), kBlob));
  ASSERT_TRUE(blob.ok()) << blob.status().toString();
  EXPECT_EQ(blob->size(), 100u);
  EXPECT_TRUE(blob->mappable());
  EXPECT_FALSE(blob->opaque());
  EXPECT_EQ(blob->memory()->kind(), MemoryKind::HARDWARE_BUFFER_BLOB);
  ASSERT_NE(blob->memory()->hardwareBuffer(), nullptr);
  EXPECT_EQ(*blob->memory()->hardwareBuffer(), kBlob);
  // Memory that its sender can shrink is copied, as with other kinds.
  auto open = ReceivedPool::open(describeBuffer(memfd(100), kBlob));
  ASSERT_TRUE(open.ok());
  EXPECT_FALSE(open->mappable());

  PoolDescription wrongSize = describeBuffer(memfd(200, F_SEAL_SHRINK), kBlob);
  wrongSize.size = 101;
  EXPECT_THAT(errorOf(std::move(wrongSize)), HasSubstr("size 101"));
  PoolDescription nameless = describeBuffer(memfd(100, F_SEAL_SHRINK), kBlob);
  nameless.hardwareBuffer.reset();
  EXPECT_THAT(errorOf(std::move(nameless)), HasSubstr("without description"));
  EXPECT_THAT(errorOf(describeBuffer(memfd(99, F_SEAL_SHRINK), kBlob)), HasSubstr("do not fit"));
  PoolDescription noBlob = describeBuffer(memfd(960, F_SEAL_SHRINK), kImage);
  noBlob.kind = static_cast<uint32_t>(MemoryKind::HARDWARE_BUFFER_BLOB);
  noBlob.size = 100;
  EXPECT_THAT(errorOf(std::move(noBlob)), HasSubstr("hardware_buffer_blob of format 0x1"));
  PoolDescription shifted = describeBuffer(memfd(4 * 4096, F_SEAL_SHRINK), kBlob);
  shifted.offset = 4096;
  EXPECT_THAT(errorOf(std::move(shifted)), HasSubstr("expected 0 with hardware_buffer_blob"));
}

TEST(ReceivedPoolTest, ImageIsForDriversOnly) {
  auto image = ReceivedPool::open(describeBuffer(memfd(960, F_SEAL_SHRINK), kImage));
  ASSERT_TRUE(image.ok()) << image.status().toString();
  EXPECT_TRUE(image->opaque());
  EXPECT_EQ(image->size(), 0u);
  EXPECT_EQ(image->memory()->map().status().code(), ResultCode::UNMAPPABLE);
  EXPECT_THAT(image->memory()->map().status().message(), HasSubstr("format 0x1, 33 x 5"));
  EXPECT_EQ(image->memory()->mapHardwareBuffer()->size(), 960u);

  EXPECT_THAT(errorOf(describeBuffer(memfd(960), kImage)), HasSubstr("could shrink"));
  EXPECT_THAT(errorOf(describeBuffer(memfd(959, F_SEAL_SHRINK), kImage)), HasSubstr("do not fit"));
  HardwareBufferDescription wrong = kImage;
  wrong.stride = 33;
  EXPECT_THAT(errorOf(describeBuffer(memfd(960, F_SEAL_SHRINK), wrong)), HasSubstr("stride of 33"));
  wrong = kImage;
  wrong.height = 0xffffffff;
  EXPECT_THAT(errorOf(describeBuffer(memfd(960, F_SEAL_SHRINK), wrong)), HasSubstr("at most"));
  wrong = kImage;
  wrong.layers = 4096;
  EXPECT_THAT(errorOf(describeBuffer(memfd(960, F_SEAL_SHRINK), wrong)), HasSubstr("do not fit"));
  PoolDescription sized = describeBuffer(memfd(960, F_SEAL_SHRINK), kImage);
  sized.size = 960;
  EXPECT_THAT(errorOf(std::move(sized)), HasSubstr("size 960, expected 0"));
}

TEST(ReceivedPoolTest, HardwareBuffersNeedHal12) {
  const auto open = [](const HardwareBufferDescription& buffer, FeatureLevel level) {
    std::vector<PoolDescription> pools;
    pools.push_back(describe(memfd(10), 10));
    pools.push_back(describeBuffer(memfd(960, F_SEAL_SHRINK), buffer));
    return openPools(std::move(pools), level).status();
  };
  EXPECT_TRUE(open(kBlob, FeatureLevel::FL3).ok());
  EXPECT_TRUE(open(kImage, FeatureLevel::FL3).ok());
  EXPECT_EQ(open(kBlob, FeatureLevel::FL2).code(), ResultCode::BAD_DATA);
  EXPECT_THAT(open(kBlob, FeatureLevel::FL1).message(), HasSubstr("memory pool 1"));
  EXPECT_THAT(open(kImage, FeatureLevel::FL2).message(), HasSubstr("needs HAL 1.2"));
}

TEST(ReceivedPoolTest, TruncationAfterTheCheckIsAnErrorNotASignal) {
  UniqueFd file = memfd(100'000);
  UniqueFd mine = file.duplicate();
  auto pool = ReceivedPool::open(describe(std::move(file), 100'000 - 4096, 4096));
  ASSERT_TRUE(pool.ok()) << pool.status().toString();
  const std::vector<uint8_t> bytes = {1, 2, 3};
  ASSERT_TRUE(pool->write(5, bytes).ok());
  std::vector<uint8_t> back(3);
  ASSERT_TRUE(pool->read(5, back).ok());
  EXPECT_EQ(back, bytes);
  uint8_t first = 0;
  ASSERT_EQ(::pread(mine.get(), &first, 1, 4096 + 5), 1);
  EXPECT_EQ(first, 1);

  ASSERT_EQ(::ftruncate(mine.get(), 4096 + 984), 0);
  std::vector<uint8_t> all(95'000);
  const Status status = pool->read(0, all);
  EXPECT_EQ(status.code(), ResultCode::BAD_DATA);
  EXPECT_THAT(status.message(), HasSubstr("984 of 95000"));
}

}  // namespace
}  // namespace halyard::hal
