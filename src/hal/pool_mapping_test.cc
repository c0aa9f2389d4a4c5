// Tests of pools received from a peer that cannot be trusted.
#include "hal/pool_mapping.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
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
  EXPECT_THAT(errorOf(describe(memfd(100), 50, 51)), HasSubstr("do not fit"));
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
}

TEST(ReceivedPoolTest, RefusesWrongDescriptors) {
  EXPECT_THAT(errorOf(describe(UniqueFd(), 10)), HasSubstr("missing"));
  int pipe[2];
  ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
  EXPECT_THAT(errorOf(describe(UniqueFd(pipe[0]), 10)), HasSubstr("regular file"));
  ::close(pipe[1]);
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
}

TEST(ReceivedPoolTest, TruncationAfterTheCheckIsAnErrorNotASignal) {
  UniqueFd file = memfd(100'000);
  UniqueFd mine = file.duplicate();
  auto pool = ReceivedPool::open(describe(std::move(file), 100'000 - 16, 16));
  ASSERT_TRUE(pool.ok()) << pool.status().toString();
  const std::vector<uint8_t> bytes = {1, 2, 3};
  ASSERT_TRUE(pool->write(5, bytes).ok());
  std::vector<uint8_t> back(3);
  ASSERT_TRUE(pool->read(5, back).ok());
  EXPECT_EQ(back, bytes);
  uint8_t at21 = 0;
  ASSERT_EQ(::pread(mine.get(), &at21, 1, 21), 1);
  EXPECT_EQ(at21, 1);

  ASSERT_EQ(::ftruncate(mine.get(), 1000), 0);
  std::vector<uint8_t> all(99'000);
  const Status status = pool->read(0, all);
  EXPECT_EQ(status.code(), ResultCode::BAD_DATA);
  EXPECT_THAT(status.message(), HasSubstr("984 of 99000"));
}

}  // namespace
}  // namespace halyard::hal
