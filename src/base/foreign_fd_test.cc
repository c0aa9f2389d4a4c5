// Tests of descriptors whose close can block: no other thread waits for it.
#include "base/foreign_fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include "base/file_facts.h"
#include "base/read_range.h"
#include "base/testing/open_descriptor.h"
#include "base/testing/slow_descriptors.h"

namespace halyard {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;
using testing::becomes;
using testing::isOpen;
using testing::LingeringSocket;
using testing::SlowFile;
using testing::within;

TEST(ForeignFd, MemoryIsClosedAtOnce) {
  ForeignFd memory(::memfd_create("test", MFD_CLOEXEC));
  const int number = memory.get();
  ASSERT_TRUE(isKernelMemory(number));
  memory.reset();
  EXPECT_FALSE(isOpen(number));
}

TEST(ForeignFd, MovesAndDuplicates) {
  ForeignFd first(::memfd_create("test", MFD_CLOEXEC));
  const int number = first.get();
  ForeignFd second = std::move(first);
  EXPECT_FALSE(first.valid());
  EXPECT_EQ(second.get(), number);
  const ForeignFd copy = second.duplicate();
  EXPECT_TRUE(copy.valid());
  EXPECT_NE(copy.get(), number);
  EXPECT_FALSE(ForeignFd().duplicate().valid());
  EXPECT_EQ(second.release(), number);
  EXPECT_TRUE(isOpen(number));
  ::close(number);
}

TEST(ForeignFd, NobodyWaitsForASocketThatLingers) {
  LingeringSocket socket(seconds(60));
  const auto account = ForeignAccount::of("one that lingers");
  assignForeign(socket.get(), account);
  EXPECT_TRUE(within(seconds(10), [&] { ForeignFd(socket.release()).reset(); }));
  EXPECT_TRUE(becomes([&] { return account->pending() == 0; }, seconds(10)));
}

// A socket whose lingering cannot be switched off blocks, but delays only its own account.
TEST(ForeignFd, StuckClosingsOfOneAccountHoldUpNoOther) {
  const auto stuck = ForeignAccount::of("stuck");
  std::vector<LingeringSocket> inside;
  constexpr unsigned kMany = 3 * ForeignAccount::kMostThreads;
  for (unsigned i = 0; i < kMany; ++i) {
    // The descriptor lies in the queue of a socket that is closed with it.
    inside.emplace_back(seconds(60));
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    testing::sendDescriptors(ends[1], {inside.back().get()});
    inside.back().close();
    ::close(ends[1]);
    assignForeign(ends[0], stuck);
    EXPECT_TRUE(within(seconds(10), [&] { ForeignFd(ends[0]).reset(); }));
  }
  const auto other = ForeignAccount::of("other");
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  assignForeign(ends[0], other);
  closeForeign(ends[0]);
  EXPECT_TRUE(becomes([&] { return other->pending() == 0; }, seconds(10)));
  EXPECT_EQ(stuck->pending(), kMany);
  for (LingeringSocket& socket : inside) socket.endPeer();
  EXPECT_TRUE(becomes([&] { return stuck->pending() == 0; }, seconds(30)));
  ::close(ends[1]);
}

TEST(ForeignFd, NobodyWaitsForAFileSystemOfAUser) {
  const auto file = SlowFile::make(SlowFile::Stuck::CLOSE);
  if (file == nullptr) GTEST_SKIP() << "file systems of users cannot be mounted here";
  const auto account = ForeignAccount::of("file system");
  ForeignFd fd(file->open());
  ASSERT_TRUE(fd.valid());
  assignForeign(fd.get(), account);
  EXPECT_TRUE(within(seconds(10), [&] { fd.reset(); }));
  EXPECT_TRUE(becomes([&] { return file->isAsked(); }, seconds(10)));
  EXPECT_EQ(account->pending(), 1u);
  file->end();
  EXPECT_TRUE(becomes([&] { return account->pending() == 0; }, seconds(10)));
}

TEST(ForeignFd, AFileThatDoesNotAnswerIsAnError) {
  for (const auto stuck : {SlowFile::Stuck::STATUS, SlowFile::Stuck::READ}) {
    const auto file = SlowFile::make(stuck);
    if (file == nullptr) GTEST_SKIP() << "file systems of users cannot be mounted here";
    const auto account = ForeignAccount::of("slow file");
    const ForeignFd fd(file->open());
    ASSERT_TRUE(fd.valid());
    assignForeign(fd.get(), account);
    EXPECT_TRUE(couldBlock(fd.get()));
    const auto begun = steady_clock::now();
    std::vector<uint8_t> bytes(100);
    const Status status = stuck == SlowFile::Stuck::STATUS ? examineFile(fd.get()).takeStatus()
                                                           : readRange(fd.get(), 0, bytes);
    EXPECT_EQ(status.code(), ResultCode::RESOURCE_EXHAUSTED_TRANSIENT) << status.toString();
    EXPECT_LT(steady_clock::now() - begun, 3 * kForeignLimit);
    EXPECT_TRUE(file->isAsked());
    file->end();
    EXPECT_TRUE(becomes([&] { return account->pending() == 0; }, seconds(10)));
  }
}

// A file that answers is read and examined like any other.
TEST(ForeignFd, AFileThatAnswersIsRead) {
  char path[] = "/tmp/halyard_foreign_XXXXXX";
  const ForeignFd fd(::mkstemp(path));
  ASSERT_TRUE(fd.valid());
  ::unlink(path);
  std::vector<uint8_t> bytes(9'000'000);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 7);
  ASSERT_EQ(::write(fd.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  assignForeign(fd.get(), ForeignAccount::of("plain file"));
  std::vector<uint8_t> read(bytes.size() - 3);
  EXPECT_TRUE(readRange(fd.get(), 3, read).ok());
  EXPECT_TRUE(std::equal(read.begin(), read.end(), bytes.begin() + 3));
  EXPECT_EQ(readRange(fd.get(), 4, read).code(), ResultCode::BAD_DATA);
  const auto facts = examineFile(fd.get());
  ASSERT_TRUE(facts.ok()) << facts.status().toString();
  EXPECT_EQ(facts->size, bytes.size());
  EXPECT_FALSE(facts->cannotShrink);
}

TEST(ForeignFd, AccountsAreKnownByTheirNames) {
  const auto account = ForeignAccount::of("name");
  EXPECT_EQ(ForeignAccount::of("name"), account);
  EXPECT_NE(ForeignAccount::of("another"), account);
}

}  // namespace
}  // namespace halyard
