// Tests of ASharedMemory.
#include <android/sharedmem.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include "halyard/driver/unique_fd.h"

namespace halyard {
namespace {

void* mapOf(int fd, int prot) { return ::mmap(nullptr, 100, prot, MAP_SHARED, fd, 0); }

TEST(SharedMemoryApi, HasItsSizeAndKeepsIt) {
  const UniqueFd fd(ASharedMemory_create("test", 100));
  ASSERT_TRUE(fd.valid());
  EXPECT_EQ(ASharedMemory_getSize(fd.get()), 100u);
  EXPECT_EQ(::fcntl(fd.get(), F_GETFD), FD_CLOEXEC);
  EXPECT_EQ(::ftruncate(fd.get(), 50), -1);
  EXPECT_EQ(::ftruncate(fd.get(), 200), -1);
  char link[100] = {};
  ASSERT_GT(::readlink(("/proc/self/fd/" + std::to_string(fd.get())).c_str(), link, 99), 0);
  EXPECT_NE(std::string(link).find("test"), std::string::npos);
  const UniqueFd nameless(ASharedMemory_create(nullptr, 1));
  EXPECT_TRUE(nameless.valid());
  const UniqueFd longName(ASharedMemory_create(std::string(1000, 'x').c_str(), 1));
  EXPECT_TRUE(longName.valid());
}

TEST(SharedMemoryApi, RefusesWhatIsNoSharedMemory) {
  EXPECT_EQ(ASharedMemory_create("test", 0), -EINVAL);
  EXPECT_EQ(ASharedMemory_create("test", SIZE_MAX), -1);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(ASharedMemory_getSize(-1), 0u);
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const UniqueFd unsealed(::memfd_create("test", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(unsealed.get(), 100), 0);
  for (const int fd : {-1, null.get(), unsealed.get()}) {
    EXPECT_EQ(ASharedMemory_getSize(fd), 0u);
    EXPECT_EQ(ASharedMemory_setProt(fd, PROT_READ), -EINVAL);
  }
}

TEST(SharedMemoryApi, SetProtOnlyTakesAway) {
  const UniqueFd fd(ASharedMemory_create("test", 100));
  auto* const before = static_cast<char*>(mapOf(fd.get(), PROT_READ | PROT_WRITE));
  ASSERT_NE(before, MAP_FAILED);
  EXPECT_EQ(ASharedMemory_setProt(fd.get(), PROT_READ | PROT_WRITE), 0);
  EXPECT_EQ(ASharedMemory_setProt(fd.get(), PROT_READ | PROT_WRITE | PROT_EXEC), 0);
  EXPECT_EQ(ASharedMemory_setProt(fd.get(), 64), -EINVAL);
  EXPECT_EQ(ASharedMemory_setProt(fd.get(), PROT_NONE), -1);
  EXPECT_EQ(errno, ENOTSUP);
  EXPECT_EQ(ASharedMemory_setProt(fd.get(), PROT_WRITE), -1);
  EXPECT_EQ(errno, ENOTSUP);
  const UniqueFd other(fd.duplicate());
  void* const still = mapOf(other.get(), PROT_READ | PROT_WRITE);
  ASSERT_NE(still, MAP_FAILED);
  ::munmap(still, 100);

  EXPECT_EQ(ASharedMemory_setProt(fd.get(), PROT_READ), 0);
  EXPECT_EQ(ASharedMemory_setProt(fd.get(), PROT_READ), 0);
  EXPECT_EQ(ASharedMemory_setProt(other.get(), PROT_READ | PROT_WRITE), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(mapOf(other.get(), PROT_READ | PROT_WRITE), MAP_FAILED);
  EXPECT_EQ(::pwrite(other.get(), "x", 1, 0), -1);
  // Another process opens a descriptor of its own.
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string path = "/proc/self/fd/" + std::to_string(fd.get());
    const int own = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    ::_exit(own >= 0 && mapOf(own, PROT_READ | PROT_WRITE) == MAP_FAILED ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  // The earlier mapping stays writable.
  before[0] = 'y';
  const auto* const reader = static_cast<const char*>(mapOf(fd.get(), PROT_READ));
  ASSERT_NE(reader, MAP_FAILED);
  EXPECT_EQ(reader[0], 'y');
  EXPECT_EQ(ASharedMemory_getSize(fd.get()), 100u);
}

}  // namespace
}  // namespace halyard
