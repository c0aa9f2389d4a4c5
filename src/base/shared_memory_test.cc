// Tests of SharedMemory and Mapping: creation, seals, offsets, protection, lifetime, refusals.
#include "halyard/driver/shared_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/file_facts.h"
#include "base/testing/open_descriptor.h"

namespace halyard {
namespace {

using testing::isOpen;

// An unnamed file with `size` bytes: byte i is i modulo 251.
UniqueFd patternFile(size_t size) {
  UniqueFd fd(::memfd_create("pattern", MFD_CLOEXEC));
  std::vector<uint8_t> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(i % 251);
  EXPECT_EQ(::write(fd.get(), bytes.data(), size), static_cast<ssize_t>(size));
  return fd;
}

TEST(SharedMemory, CreatedMemoryIsZeroedSharedAndSealed) {
  auto memory = SharedMemory::create(10000, "test");
  ASSERT_TRUE(memory.ok()) << memory.status().toString();
  const SharedMemory& pool = **memory;
  EXPECT_EQ(pool.kind(), MemoryKind::ASHMEM);
  EXPECT_EQ(pool.size(), 10000u);
  EXPECT_EQ(pool.prot(), PROT_READ | PROT_WRITE);
  auto first = pool.map();
  auto second = pool.map();
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->size(), 10000u);
  EXPECT_NE(first->data(), second->data());
  for (size_t i = 0; i < first->size(); ++i) ASSERT_EQ(first->data()[i], 0);
  first->data()[9999] = 7;
  EXPECT_EQ(second->data()[9999], 7);

  EXPECT_EQ(::ftruncate(pool.fd(), 10), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(::ftruncate(pool.fd(), 100000), -1);
  EXPECT_EQ(::fcntl(pool.fd(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

// The application's limit on file sizes applies to memory, too. Exceeding it must not end the
// process.
TEST(SharedMemory, BeyondTheLimitOnSizesOfFilesIsAnError) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_DFL);
    const rlimit limit{4096, 4096};
    const bool limited = ::setrlimit(RLIMIT_FSIZE, &limit) == 0;
    const bool fails =
        SharedMemory::create(10000, "test").status().code() == ResultCode::OUT_OF_MEMORY;
    ::_exit(limited && fails && SharedMemory::create(4096, "test").ok() ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(SharedMemory, RefusesSizeZero) {
  EXPECT_EQ(SharedMemory::create(0, "nothing").status().code(), ResultCode::BAD_DATA);
}

TEST(SharedMemory, MapsAnyOffsetOfAFile) {
  const UniqueFd file = patternFile(20000);
  for (uint64_t offset : {0, 1, 4095, 4096, 4097, 12345}) {
    auto memory = SharedMemory::fromFd(100, PROT_READ, file.get(), offset);
    ASSERT_TRUE(memory.ok());
    EXPECT_EQ((*memory)->kind(), MemoryKind::MMAP_FD);
    EXPECT_EQ((*memory)->offset(), offset);
    auto mapping = (*memory)->map();
    ASSERT_TRUE(mapping.ok()) << mapping.status().toString();
    ASSERT_EQ(mapping->size(), 100u);
    for (size_t i = 0; i < 100; ++i) ASSERT_EQ(mapping->data()[i], (offset + i) % 251);
  }
}

TEST(SharedMemory, DuplicatesTheCallersDescriptor) {
  UniqueFd file = patternFile(100);
  auto memory = SharedMemory::fromFd(100, PROT_READ, file.get(), 0);
  ASSERT_TRUE(memory.ok());
  EXPECT_NE((*memory)->fd(), file.get());
  file.reset();
  auto mapping = (*memory)->map();
  ASSERT_TRUE(mapping.ok());
  // A mapping needs neither the memory object nor its descriptor.
  const int fd = (*memory)->fd();
  *memory = nullptr;
  EXPECT_FALSE(isOpen(fd));
  EXPECT_EQ(mapping->data()[99], 99);
}

TEST(SharedMemory, RefusesAFileThatIsTooShort) {
  const UniqueFd file = patternFile(5000);
  const struct {
    size_t size;
    uint64_t offset;
  } cases[] = {{5001, 0}, {1, 5000}, {1000, 4001}, {100, UINT64_MAX - 50}, {SIZE_MAX, 4096}};
  for (const auto& c : cases) {
    auto memory = SharedMemory::fromFd(c.size, PROT_READ, file.get(), c.offset);
    ASSERT_TRUE(memory.ok());
    const auto mapping = (*memory)->map();
    EXPECT_EQ(mapping.status().code(), ResultCode::UNMAPPABLE) << c.size << " at " << c.offset;
    EXPECT_NE(mapping.status().message().find("5000 bytes"), std::string::npos)
        << mapping.status().message();
  }
}

TEST(SharedMemory, ConstantsOfAFileThatCouldShrinkAreCopied) {
  const UniqueFd file = patternFile(20000);
  const auto all = SharedMemory::fromFd(15000, PROT_READ, file.get(), 4097).value();
  const SharedMemoryPtr constants = SharedMemory::ofConstants(*all);
  EXPECT_EQ(constants->fd(), all->fd());
  EXPECT_EQ(constants->kind(), MemoryKind::MMAP_FD);
  EXPECT_EQ(constants->offset(), 4097u);
  const auto first = constants->map();
  const auto kept = constants->mapped();
  ASSERT_TRUE(first.ok() && kept.ok()) << first.status().toString();
  const uint8_t other = 255;
  ASSERT_EQ(::pwrite(file.get(), &other, 1, 4097), 1);
  ASSERT_EQ(::ftruncate(file.get(), 5000), 0);
  // An access to a mapping of the file would end the process now.
  for (const Mapping* mapping : {&*first, *kept}) {
    ASSERT_EQ(mapping->size(), 15000u);
    for (size_t i = 0; i < 15000; ++i) ASSERT_EQ(mapping->data()[i], (4097 + i) % 251);
  }
  const auto late = constants->map();
  EXPECT_EQ(late.status().code(), ResultCode::UNMAPPABLE);
  EXPECT_NE(late.status().message().find("truncated"), std::string::npos)
      << late.status().message();
  const auto unreadable = SharedMemory::fromFd(100, PROT_WRITE, file.get(), 0).value();
  EXPECT_EQ(SharedMemory::ofConstants(*unreadable)->map().status().code(), ResultCode::UNMAPPABLE);
}

// Data that is aligned in the file must be aligned in every copy of it.
TEST(SharedMemory, CopiesAreAlignedAsTheFileIs) {
  const UniqueFd file = patternFile(20000);
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  for (const uint64_t offset : {uint64_t{2}, uint64_t{4094}, uint64_t{5000}}) {
    const auto all = SharedMemory::fromFd(10000, PROT_READ, file.get(), offset).value();
    const auto copy = SharedMemory::ofConstants(*all)->map();
    ASSERT_TRUE(copy.ok()) << copy.status().toString();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(copy->data()) % page, offset % page);
    ASSERT_EQ(copy->size(), 10000u);
    for (size_t i = 0; i < 10000; ++i) ASSERT_EQ(copy->data()[i], (offset + i) % 251);
  }
}

TEST(SharedMemory, ConstantsThatCannotGoAreMappedWhereTheyAre) {
  const auto memory = SharedMemory::create(10000, "test").value();
  const SharedMemoryPtr constants = SharedMemory::ofConstants(*memory);
  const auto writer = memory->map();
  const auto reader = constants->map();
  ASSERT_TRUE(writer.ok() && reader.ok());
  writer->data()[9999] = 7;
  EXPECT_EQ(reader->data()[9999], 7);
}

TEST(SharedMemory, LittleIsCopiedToTheHeapAndMuchIsMapped) {
  for (const size_t size : {size_t{1}, size_t{5000}, size_t{64 * 1024}, size_t{64 * 1024 + 1}}) {
    const UniqueFd file = patternFile(8192 + size);
    const auto all = SharedMemory::fromFd(size, PROT_READ, file.get(), 8000).value();
    auto copy = SharedMemory::ofConstants(*all)->map();
    ASSERT_TRUE(copy.ok()) << copy.status().toString();
    EXPECT_EQ(copy->isOnHeap(), size <= 64 * 1024);
    const Mapping moved = std::move(*copy);
    ASSERT_EQ(moved.size(), size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(moved.data()) % 4096, 8000u % 4096);
    for (size_t i = 0; i < size; ++i) ASSERT_EQ(moved.data()[i], (8000 + i) % 251) << i;
  }
}

TEST(SharedMemory, PartsShareTheDescriptor) {
  const auto memory = SharedMemory::create(8192 + 100, "test").value();
  memory->mapped().value()->data()[8192] = 7;
  const SharedMemoryPtr part = SharedMemory::partOf(*memory, 8192, 100);
  EXPECT_EQ(part->fd(), memory->fd());
  EXPECT_EQ(part->kind(), MemoryKind::MMAP_FD);
  EXPECT_EQ(part->prot(), PROT_READ | PROT_WRITE);
  EXPECT_EQ(part->mapped().value()->data()[0], 7);
  const SharedMemoryPtr constants = SharedMemory::ofConstants(*memory, 8192, 100);
  EXPECT_EQ(constants->prot(), PROT_READ);
  EXPECT_EQ(constants->offset(), 8192u);
  EXPECT_EQ(constants->mapped().value()->data()[0], 7);
  EXPECT_EQ(SharedMemory::partOf(*memory, 8192, 101)->map().status().code(),
            ResultCode::UNMAPPABLE);
}

// The kernel is asked each time about properties that can change.
TEST(SharedMemory, OnlyWhatIsSealedForGoodIsRemembered) {
  const auto made = SharedMemory::create(100, "test").value();
  for (const auto& memory : {made, SharedMemory::fromFd(100, 3, made->fd(), 0).value()}) {
    for (int times = 0; times < 2; ++times) {
      const auto facts = memory->examine();
      ASSERT_TRUE(facts.ok()) << facts.status().toString();
      EXPECT_EQ(facts->size, 100u);
      EXPECT_TRUE(facts->isFixed && facts->cannotShrink && facts->writable);
      EXPECT_FALSE(facts->isDmaBuf || facts->sealedForWriting);
    }
    EXPECT_FALSE(memory->couldShrink());
    EXPECT_FALSE(memory->isDmaBuf());
  }
  const UniqueFd file(::memfd_create("growing", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const auto growing = SharedMemory::fromFd(100, PROT_READ, file.get(), 0).value();
  for (const off_t size : {100, 200, 50}) {
    ASSERT_EQ(::ftruncate(file.get(), size), 0);
    EXPECT_EQ(growing->examine().value().size, static_cast<uint64_t>(size));
    EXPECT_EQ(growing->map().ok(), size >= 100);
    EXPECT_TRUE(growing->couldShrink());
  }
  ASSERT_EQ(::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
  EXPECT_FALSE(growing->examine().value().isFixed) << "another seal may come";
  ASSERT_EQ(::fcntl(file.get(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL), 0);
  EXPECT_TRUE(growing->examine().value().isFixed);
  EXPECT_TRUE(growing->examine().value().sealedForWriting);
  EXPECT_EQ(growing->map().status().code(), ResultCode::UNMAPPABLE) << "50 bytes, still";
}

// A peer may make a file smaller and then seal it. The size from before the seal must not be used.
TEST(SharedMemory, TheSizeOfASealedFileIsLookedAtBehindItsSeals) {
  for (int round = 0; round < 300; ++round) {
    const UniqueFd file(::memfd_create("changing", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    ASSERT_EQ(::ftruncate(file.get(), 1 << 20), 0);
    std::atomic<int> looks = 0;
    std::jthread changes([&] {
      while (looks < round % 3) std::this_thread::yield();
      (void)!::ftruncate(file.get(), 4096);
      (void)::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    });
    for (bool isFixed = false; !isFixed; ++looks) {
      const auto facts = examineFile(file.get());
      ASSERT_TRUE(facts.ok()) << facts.status().toString();
      isFixed = facts->isFixed;
      if (isFixed) {
        ASSERT_EQ(facts->size, 4096u) << round;
      }
    }
  }
}

// A file that cannot be examined could shrink, so it does not count as stable.
TEST(SharedMemory, WhatCannotBeExaminedCouldShrink) {
  const UniqueFd file(::memfd_create("unreadable", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(file.get(), 4096), 0);
  const std::string path = "/proc/self/fd/" + std::to_string(file.get());
  const UniqueFd writing(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(writing.valid());
  const auto memory = SharedMemory::fromFd(4096, PROT_READ, writing.get(), 0).value();
  ASSERT_FALSE(memory->examine().ok());
  EXPECT_TRUE(memory->couldShrink());
  // Constants of such a file are copied, not mapped, and the copy fails.
  EXPECT_EQ(SharedMemory::ofConstants(*memory)->map().status().code(), ResultCode::UNMAPPABLE);
}

TEST(SharedMemory, RefusesDescriptorsThatCannotBeMapped) {
  EXPECT_FALSE(SharedMemory::fromFd(10, PROT_READ, -1, 0).ok());
  EXPECT_FALSE(SharedMemory::fromFd(10, PROT_READ, 1 << 20, 0).ok());
  int pipeEnds[2];
  ASSERT_EQ(::pipe(pipeEnds), 0);
  const UniqueFd reader(pipeEnds[0]);
  const UniqueFd writer(pipeEnds[1]);
  auto memory = SharedMemory::fromFd(10, PROT_READ, reader.get(), 0);
  ASSERT_TRUE(memory.ok());
  EXPECT_EQ((*memory)->map().status().code(), ResultCode::UNMAPPABLE);
}

// A device has no size to compare with. Only the check of the arithmetic stops a forged pool from
// reaching memory that does not exist.
TEST(SharedMemory, RefusesASizeThatWrapsAround) {
  const UniqueFd zero(::open("/dev/zero", O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(zero.valid());
  auto fits = SharedMemory::fromFd(4096, PROT_READ, zero.get(), 100);
  ASSERT_TRUE(fits.ok());
  EXPECT_TRUE((*fits)->map().ok());
  for (size_t size : {SIZE_MAX, SIZE_MAX - 50, SIZE_MAX - 99}) {
    auto memory = SharedMemory::fromFd(size, PROT_READ, zero.get(), 100);
    ASSERT_TRUE(memory.ok());
    EXPECT_EQ((*memory)->map().status().code(), ResultCode::UNMAPPABLE) << size;
  }
}

TEST(SharedMemory, MapsWithThePoolsProtection) {
  auto created = SharedMemory::create(4096, "read only");
  ASSERT_TRUE(created.ok());
  auto readOnly = SharedMemory::fromFd(4096, PROT_READ, (*created)->fd(), 0);
  ASSERT_TRUE(readOnly.ok());
  auto mapping = (*readOnly)->map();
  ASSERT_TRUE(mapping.ok());
  EXPECT_EQ(mapping->data()[0], 0);
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(*const_cast<volatile uint8_t*>(mapping->data()) = 1, "");
}

TEST(Mapping, MovesItsRange) {
  auto memory = SharedMemory::create(4096, "moved");
  ASSERT_TRUE(memory.ok());
  auto mapped = (*memory)->map();
  ASSERT_TRUE(mapped.ok());
  uint8_t* const data = mapped->data();
  Mapping first = std::move(mapped).value();
  Mapping second(std::move(first));
  EXPECT_EQ(second.data(), data);
  Mapping third;
  third = std::move(second);
  EXPECT_EQ(third.data(), data);
  data[0] = 1;  // still mapped
  EXPECT_EQ(third.size(), 4096u);
}

TEST(MemoryKind, Names) {
  EXPECT_EQ(memoryKindName(MemoryKind::ASHMEM), "ashmem");
  EXPECT_EQ(memoryKindName(MemoryKind::MMAP_FD), "mmap_fd");
  EXPECT_EQ(memoryKindName(MemoryKind::HARDWARE_BUFFER_BLOB), "hardware_buffer_blob");
  EXPECT_EQ(memoryKindName(MemoryKind::HARDWARE_BUFFER), "hardware_buffer");
}

TEST(UniqueFd, ClosesWhatItOwns) {
  UniqueFd first(::memfd_create("owned", MFD_CLOEXEC));
  const int number = first.get();
  UniqueFd duplicate = first.duplicate();
  EXPECT_NE(duplicate.get(), number);
  EXPECT_EQ(::fcntl(duplicate.get(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  UniqueFd second(std::move(first));
  EXPECT_FALSE(first.valid());  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(second.get(), number);
  second.reset();
  EXPECT_FALSE(isOpen(number));
  EXPECT_TRUE(isOpen(duplicate.get()));
  const int released = duplicate.release();
  duplicate.reset();
  EXPECT_TRUE(isOpen(released));
  ::close(released);
  EXPECT_FALSE(UniqueFd().duplicate().valid());
}

}  // namespace
}  // namespace halyard
