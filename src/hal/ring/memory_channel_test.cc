// Tests of the memory channel: memories of a client, and messages of a hostile client.
#include "hal/ring/memory_channel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "base/testing/slow_descriptors.h"

namespace halyard::hal {
namespace {

using halyard::testing::becomes;
using halyard::testing::LingeringSocket;
using halyard::testing::sendDescriptors;

bool isSameFile(int a, int b) {
  struct stat one {};
  struct stat other {};
  return ::fstat(a, &one) == 0 && ::fstat(b, &other) == 0 && one.st_ino == other.st_ino;
}

// Returns the number of this process's descriptors of that file. Descriptors that other tests still
// have to close do not count.
size_t openDescriptors(int file) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    if (isSameFile(std::stoi(entry.path().filename()), file)) ++count;
  }
  return count;
}

class MemoryChannelTest : public ::testing::Test {
 protected:
  void SetUp() override { open(nullptr); }
  void open(std::shared_ptr<Quota> quota, std::shared_ptr<ForeignAccount> closing = nullptr) {
    auto made = OfferedMemories::create(std::move(quota), std::move(closing)).value();
    driver_.emplace(std::move(made.memories));
    client_ = std::move(made.clientEnd);
  }
  // Sends any bytes with any descriptors.
  void sendRaw(std::span<const uint8_t> bytes, const std::vector<int>& fds) {
    iovec data{const_cast<uint8_t*>(bytes.data()), bytes.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(8 * sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    if (!fds.empty()) {
      message.msg_control = control;
      message.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
      cmsghdr* const part = CMSG_FIRSTHDR(&message);
      part->cmsg_level = SOL_SOCKET;
      part->cmsg_type = SCM_RIGHTS;
      part->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
      std::memcpy(CMSG_DATA(part), fds.data(), fds.size() * sizeof(int));
    }
    ASSERT_EQ(::sendmsg(client_.get(), &message, MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  // Sends a message for 64 bytes with read and write access.
  void send(MemoryMessage message, const std::vector<int>& fds) {
    message.prot = 3;
    message.size = 64;
    sendRaw({reinterpret_cast<const uint8_t*>(&message), sizeof message}, fds);
  }
  bool has(int32_t slot) {
    driver_->receive();
    return driver_->has(slot);
  }

  std::optional<OfferedMemories> driver_;
  UniqueFd client_;
  const SharedMemoryPtr memory_ = SharedMemory::create(64, "test").value();
};

// Otherwise a hostile client could use up the descriptors of the process.
TEST_F(MemoryChannelTest, TakesNothingWhileTooManyDescriptorsWaitToBeClosed) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  if (limit.rlim_max < 4096) GTEST_SKIP() << "the process may not have 4096 descriptors";
  const rlimit before = limit;
  limit.rlim_cur = limit.rlim_max;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  const auto account = std::make_shared<ForeignAccount>();
  open(nullptr, account);
  std::vector<LingeringSocket> sockets;
  for (unsigned i = 0; i < ForeignAccount::kMostThreads; ++i) {
    // The descriptor lies in the queue of a socket that is closed with it.
    sockets.emplace_back(std::chrono::seconds(100));
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    ASSERT_TRUE(sendDescriptors(ends[1], {sockets.back().get()}));
    sockets.back().close();
    ::close(ends[1]);
    assignForeign(ends[0], account);
    closeForeign(ends[0]);
  }
  const UniqueFd event(::eventfd(0, EFD_CLOEXEC));
  const std::vector<int> eight(8, event.get());
  for (int i = 0; i < 400 && !account->isBehind(); ++i) {
    send({.slot = 1}, eight);
    driver_->receive();
  }
  EXPECT_TRUE(account->isBehind());
  EXPECT_LE(account->pending(), ForeignAccount::kMostPending + 8);
  send({.slot = 2, .kind = static_cast<uint32_t>(MemoryKind::ASHMEM)}, {memory_->fd()});
  EXPECT_FALSE(has(2));
  for (LingeringSocket& socket : sockets) socket.endPeer();
  EXPECT_TRUE(becomes([&] { return has(2); }, std::chrono::seconds(30)));
  EXPECT_TRUE(becomes([&] { return account->pending() == 0; }, std::chrono::seconds(30)));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST_F(MemoryChannelTest, HandsMemoriesOver) {
  const SharedMemoryPtr part = SharedMemory::fromFd(4096, PROT_READ, memory_->fd(), 8192).value();
  EXPECT_TRUE(offerMemory(client_.get(), 0, *memory_));
  EXPECT_TRUE(offerMemory(client_.get(), 7, *part));
  EXPECT_FALSE(driver_->has(7)) << "nothing has been received yet";
  ASSERT_TRUE(has(0) && has(7));
  const PoolDescription first = *driver_->take(0);
  EXPECT_EQ(first.kind, static_cast<uint32_t>(MemoryKind::ASHMEM));
  EXPECT_EQ(first.size, 64u);
  EXPECT_EQ(first.prot, 3u);
  EXPECT_EQ(first.offset, 0u);
  EXPECT_TRUE(isSameFile(first.fd.get(), memory_->fd()));
  EXPECT_EQ(::fcntl(first.fd.get(), F_GETFD), FD_CLOEXEC);
  const PoolDescription second = *driver_->take(7);
  EXPECT_EQ(second.kind, static_cast<uint32_t>(MemoryKind::MMAP_FD));
  EXPECT_EQ(second.size, 4096u);
  EXPECT_EQ(second.prot, 1u);
  EXPECT_EQ(second.offset, 8192u);
  EXPECT_FALSE(driver_->take(7).has_value()) << "each once";
}

TEST_F(MemoryChannelTest, TheLastOfASlotCounts) {
  const SharedMemoryPtr other = SharedMemory::create(128, "other").value();
  EXPECT_TRUE(offerMemory(client_.get(), 3, *memory_));
  EXPECT_TRUE(offerMemory(client_.get(), 3, *other));
  driver_->receive();
  EXPECT_EQ(driver_->take(3)->size, 128u);
  EXPECT_TRUE(offerMemory(client_.get(), 3, *memory_));
  driver_->receive();
  driver_->drop(3);
  EXPECT_FALSE(driver_->has(3));
}

// Hardware buffers need a layout, which messages do not contain. The driver asks for such buffers.
TEST_F(MemoryChannelTest, HardwareBuffersAreNotOffered) {
  HardwareBufferDescription blob{};
  blob.width = 64;
  blob.height = 1;
  blob.layers = 1;
  blob.format = kBlobFormat;
  EXPECT_FALSE(offerMemory(client_.get(), 0,
                           *SharedMemory::fromHardwareBuffer(blob, memory_->fd()).value()));
  send({.kind = static_cast<uint32_t>(MemoryKind::HARDWARE_BUFFER_BLOB)}, {memory_->fd()});
  EXPECT_FALSE(has(0));
}

TEST_F(MemoryChannelTest, OffersNeverWait) {
  EXPECT_FALSE(offerMemory(-1, 0, *memory_));
  EXPECT_FALSE(offerMemory(memory_->fd(), 0, *memory_)) << "no socket";
  // The driver does not receive these messages.
  int32_t sent = 0;
  while (sent < 100'000 && offerMemory(client_.get(), sent, *memory_)) ++sent;
  EXPECT_LT(sent, 100'000);
  driver_.reset();
  EXPECT_FALSE(offerMemory(client_.get(), 0, *memory_)) << "nobody is there";
}

TEST_F(MemoryChannelTest, WhatMakesNoSenseIsDropped) {
  const size_t before = openDescriptors(memory_->fd());
  const std::vector<uint8_t> large(5000, 0);
  send({.slot = 1}, {});
  send({.slot = 2}, {memory_->fd(), memory_->fd()});
  send({.slot = 3}, std::vector<int>(8, memory_->fd()));
  sendRaw(std::span(large).first(31), {memory_->fd()});
  sendRaw(std::span(large).first(33), {memory_->fd()});
  sendRaw(large, {memory_->fd()});
  sendRaw(std::span(large).first(1), {});
  for (const int32_t slot : {0, 1, 2, 3}) EXPECT_FALSE(has(slot)) << slot;
  EXPECT_EQ(openDescriptors(memory_->fd()), before);
  send({.slot = 4}, {memory_->fd()});
  EXPECT_TRUE(has(4)) << "what comes behind is taken";
  client_.reset();
  driver_->receive();
  EXPECT_TRUE(has(4)) << "the client's end has gone";
}

TEST_F(MemoryChannelTest, ClientsHoldFewDescriptors) {
  open(Quota::create({.descriptors = 3}, "the client"));
  for (int32_t slot = 0; slot < 5; ++slot) {
    send({.slot = slot}, {memory_->fd()});
    driver_->receive();
  }
  EXPECT_TRUE(has(2));
  EXPECT_FALSE(has(3));
  driver_->drop(0);
  send({.slot = 5}, {memory_->fd()});
  EXPECT_TRUE(has(5)) << "what goes makes room";
  open(nullptr);
  for (int32_t slot = 0; slot < 200; ++slot) {
    send({.slot = slot}, {memory_->fd()});
    driver_->receive();
  }
  EXPECT_TRUE(has(static_cast<int32_t>(OfferedMemories::kMost) - 1));
  EXPECT_FALSE(has(OfferedMemories::kMost));
}

}  // namespace
}  // namespace halyard::hal
