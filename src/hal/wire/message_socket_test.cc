// Tests of messages over a socket: with kj's own stream, byte by byte, and from a hostile peer.
#include "hal/wire/message_socket.h"

#include <capnp/message.h>
#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <kj/async-io.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "base/testing/slow_descriptors.h"

namespace halyard::hal {
namespace {

using capnp::word;

constexpr unsigned kMaxFds = 4;
constexpr size_t kSmall = 5;
constexpr size_t kShared = (size_t{1} << 15) / sizeof(word);  // words received together
constexpr size_t kLarge = 300'000;                            // more than the socket can hold

using Words = std::vector<uint64_t>;
// The segments of a message.
using Segments = std::vector<Words>;

Segments segmentsOf(std::initializer_list<size_t> sizes, uint64_t first = 1) {
  Segments segments;
  for (const size_t size : sizes) {
    Words words(size);
    std::iota(words.begin(), words.end(), first);
    first += size;
    segments.push_back(std::move(words));
  }
  return segments;
}

// Returns the segments as writeMessage takes them.
std::vector<kj::ArrayPtr<const word>> pointersTo(const Segments& segments) {
  std::vector<kj::ArrayPtr<const word>> pointers;
  for (const Words& words : segments) {
    pointers.push_back(kj::arrayPtr(reinterpret_cast<const word*>(words.data()), words.size()));
  }
  return pointers;
}

// Returns the message as in the stream.
std::vector<uint8_t> streamOf(const Segments& segments) {
  std::vector<uint32_t> table{static_cast<uint32_t>(segments.size() - 1)};
  for (const Words& words : segments) table.push_back(static_cast<uint32_t>(words.size()));
  if (table.size() % 2 != 0) table.push_back(0);
  std::vector<uint8_t> bytes(reinterpret_cast<uint8_t*>(table.data()),
                             reinterpret_cast<uint8_t*>(table.data() + table.size()));
  for (const Words& words : segments) {
    const auto* const from = reinterpret_cast<const uint8_t*>(words.data());
    bytes.insert(bytes.end(), from, from + words.size() * sizeof(uint64_t));
  }
  return bytes;
}

// Returns the number of open descriptors of the file with that name. Descriptors that other tests
// still have to close do not count.
size_t openDescriptors(const std::string& name) {
  size_t count = 0;
  DIR* const folder = ::opendir("/proc/self/fd");
  while (const dirent* const entry = ::readdir(folder)) {
    char target[256];
    const ssize_t length = ::readlinkat(::dirfd(folder), entry->d_name, target, sizeof target);
    if (length > 0 && std::string(target, static_cast<size_t>(length)).starts_with(name)) ++count;
  }
  ::closedir(folder);
  return count;
}

// Counts the files of someFile.
size_t openFiles() { return openDescriptors("/memfd:message_socket_test"); }

UniqueFd someFile() { return UniqueFd(::memfd_create("message_socket_test", MFD_CLOEXEC)); }

ino_t inodeOf(int fd) {
  struct stat about {};
  return ::fstat(fd, &about) == 0 ? about.st_ino : 0;
}

using halyard::testing::LingeringSocket;

struct Read {
  Segments segments;
  std::vector<ino_t> files;
};

class MessageSocketTest : public ::testing::Test {
 protected:
  MessageSocketTest() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    socketName_ = fmt::format("socket:[{}]", inodeOf(ends[0]));
    socket_ = std::make_unique<MessageSocket>(io_.unixEventPort, UniqueFd(ends[0]), kMaxFds);
    peer_.reset(ends[1]);
  }

  ~MessageSocketTest() noexcept override {}

  // kj's stream at the other end.
  capnp::MessageStream& peer() {
    if (peerMessages_ == nullptr) {
      peerStream_ = io_.lowLevelProvider->wrapUnixSocketFd(kj::AutoCloseFd(peer_.release()));
      peerMessages_ = std::make_unique<capnp::AsyncCapabilityMessageStream>(*peerStream_);
    }
    return *peerMessages_;
  }
  // Sends arbitrary bytes, as a hostile peer.
  void sendRaw(std::span<const uint8_t> bytes, std::vector<int> fds = {}) {
    iovec part{const_cast<uint8_t*>(bytes.data()), bytes.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    alignas(cmsghdr) char control[CMSG_SPACE(64 * sizeof(int))] = {};
    if (!fds.empty()) {
      message.msg_control = control;
      message.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
      cmsghdr* const header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
      std::memcpy(CMSG_DATA(header), fds.data(), fds.size() * sizeof(int));
    }
    ASSERT_EQ(::sendmsg(peer_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }

  kj::Promise<kj::Maybe<capnp::MessageReaderAndFds>> begin(capnp::MessageStream& stream) {
    return stream.tryReadMessage(kj::arrayPtr(space_, kMaxFds), options_, nullptr);
  }
  Read finish(kj::Promise<kj::Maybe<capnp::MessageReaderAndFds>> promise) {
    Read read;
    auto received = promise.wait(io_.waitScope);
    KJ_IF_MAYBE (message, received) {
      for (unsigned i = 0;; ++i) {
        const auto segment = message->reader->getSegment(i);
        if (segment.begin() == nullptr) break;
        const auto* const words = reinterpret_cast<const uint64_t*>(segment.begin());
        read.segments.emplace_back(words, words + segment.size());
      }
      for (kj::AutoCloseFd& fd : message->fds) {
        read.files.push_back(inodeOf(fd.get()));
        fd = nullptr;
      }
    }
    return read;
  }
  Read readFrom(capnp::MessageStream& stream) { return finish(begin(stream)); }
  // Sends one message to the other end and reads it there.
  Read transfer(capnp::MessageStream& from, capnp::MessageStream& to, const Segments& segments,
                const std::vector<int>& fds = {}) {
    const auto pointers = pointersTo(segments);
    auto written = from.writeMessage(kj::arrayPtr(fds.data(), fds.size()),
                                     kj::arrayPtr(pointers.data(), pointers.size()));
    // The write starts now, because it may have to wait for space.
    auto eager = written.eagerlyEvaluate(nullptr);
    Read read = readFrom(to);
    eager.wait(io_.waitScope);
    return read;
  }
  std::string failureOf(kj::Promise<kj::Maybe<capnp::MessageReaderAndFds>> promise) {
    std::string text;
    const auto failure = kj::runCatchingExceptions([&] { (void)finish(kj::mv(promise)); });
    KJ_IF_MAYBE (exception, failure) {
      text = exception->getDescription().cStr();
      failureType_ = exception->getType();
    }
    return text;
  }

  // Runs the loop meanwhile.
  template <typename Condition>
  bool becomes(Condition condition) {
    for (int i = 0; i < 30'000 && !condition(); ++i) {
      io_.provider->getTimer().afterDelay(1 * kj::MILLISECONDS).wait(io_.waitScope);
    }
    return condition();
  }

  kj::AsyncIoContext io_ = kj::setupAsyncIo();
  std::string socketName_;
  std::unique_ptr<MessageSocket> socket_;
  UniqueFd peer_;
  kj::Own<kj::AsyncCapabilityStream> peerStream_;
  std::unique_ptr<capnp::AsyncCapabilityMessageStream> peerMessages_;
  kj::AutoCloseFd space_[kMaxFds];
  capnp::ReaderOptions options_;
  kj::Exception::Type failureType_ = kj::Exception::Type::FAILED;
};

TEST_F(MessageSocketTest, CarriesMessagesOfAllSizesBothWays) {
  for (const auto& segments :
       {segmentsOf({kSmall}), segmentsOf({1, 2}), segmentsOf({3, 0, 7, 0}),
        segmentsOf({kShared - 2}), segmentsOf({kShared - 1}), segmentsOf({kShared}),
        segmentsOf({kShared, kSmall}), segmentsOf({kLarge, 1}), segmentsOf({kSmall})}) {
    EXPECT_EQ(transfer(*socket_, peer(), segments).segments, segments);
    EXPECT_EQ(transfer(peer(), *socket_, segments).segments, segments);
  }
}

TEST_F(MessageSocketTest, DescriptorsComeWithTheirMessage) {
  const UniqueFd one = someFile();
  const UniqueFd two = someFile();
  const size_t before = openFiles();
  for (const auto& segments : {segmentsOf({kSmall}), segmentsOf({kShared}), segmentsOf({kLarge})}) {
    const std::vector<ino_t> files{inodeOf(one.get()), inodeOf(two.get())};
    EXPECT_EQ(transfer(*socket_, peer(), segments, {one.get(), two.get()}).files, files);
    EXPECT_EQ(transfer(peer(), *socket_, segments, {one.get(), two.get()}).files, files);
    EXPECT_TRUE(transfer(peer(), *socket_, segments).files.empty());
  }
  EXPECT_EQ(openFiles(), before) << "left open";
}

// Some messages are received together, and the descriptors belong to some of them.
TEST_F(MessageSocketTest, MessagesThatComeTogetherKeepTheirOwnDescriptors) {
  struct Sent {
    Segments segments;
    std::vector<kj::ArrayPtr<const word>> pointers;
    std::vector<int> fds;
    std::vector<ino_t> files;
  };
  std::mt19937 random(1);
  const UniqueFd files[] = {someFile(), someFile(), someFile()};
  for (int round = 0; round < 200; ++round) {
    std::vector<Sent> sent(12);
    kj::Promise<void> written = kj::READY_NOW;
    for (Sent& message : sent) {
      message.segments = random() % 8 == 0 ? segmentsOf({random() % kShared + 1}, random())
                                           : segmentsOf({random() % 40, random() % 3}, random());
      message.pointers = pointersTo(message.segments);
      for (size_t k = 0; k < random() % 4; ++k) {
        message.fds.push_back(files[k % 3].get());
        message.files.push_back(inodeOf(files[k % 3].get()));
      }
      written = written.then([&] {
        return peer().writeMessage(kj::arrayPtr(message.fds.data(), message.fds.size()),
                                   kj::arrayPtr(message.pointers.data(), message.pointers.size()));
      });
    }
    written = written.eagerlyEvaluate(nullptr);
    (void)written.poll(io_.waitScope);  // as many as fit
    for (const Sent& message : sent) {
      const Read read = readFrom(*socket_);
      EXPECT_EQ(read.segments, message.segments);
      EXPECT_EQ(read.files, message.files) << "round " << round;
    }
    written.wait(io_.waitScope);
  }
}

TEST_F(MessageSocketTest, AMessageMayComeInPieces) {
  const UniqueFd file = someFile();
  const Segments segments = segmentsOf({kSmall, 2, 1});
  const std::vector<uint8_t> bytes = streamOf(segments);
  for (const size_t piece : {1u, 3u, 8u, 20u}) {
    for (size_t at = 0; at < bytes.size(); at += piece) {
      const auto part = std::span(bytes).subspan(at, std::min(piece, bytes.size() - at));
      auto promise = begin(*socket_);
      EXPECT_FALSE(promise.poll(io_.waitScope));
      sendRaw(part, at == 0 ? std::vector{file.get()} : std::vector<int>());
      if (at + piece < bytes.size()) {
        EXPECT_FALSE(promise.poll(io_.waitScope)) << at;
        continue;
      }
      const Read read = finish(kj::mv(promise));
      EXPECT_EQ(read.segments, segments);
      EXPECT_EQ(read.files, std::vector{inodeOf(file.get())});
    }
  }
}

TEST_F(MessageSocketTest, TheEndOfTheStreamIsNoMessage) {
  const std::vector<uint8_t> bytes = streamOf(segmentsOf({kSmall}));
  sendRaw(bytes);
  peer_.reset();
  EXPECT_FALSE(readFrom(*socket_).segments.empty());
  EXPECT_TRUE(readFrom(*socket_).segments.empty());
}

TEST_F(MessageSocketTest, AnEndWithinAMessageIsADisconnection) {
  const std::vector<uint8_t> bytes = streamOf(segmentsOf({kSmall}));
  auto promise = begin(*socket_);
  EXPECT_FALSE(promise.poll(io_.waitScope));
  sendRaw(std::span(bytes).first(bytes.size() - 1));
  peer_.reset();
  EXPECT_NE(failureOf(kj::mv(promise)).find("within a message"), std::string::npos);
  EXPECT_EQ(failureType_, kj::Exception::Type::DISCONNECTED);
}

TEST_F(MessageSocketTest, MessagesThatMustNotBeAreRefused) {
  options_.traversalLimitInWords = 100;
  // A message of the maximum size including its header, then one word more. The check comes before
  // the allocation.
  sendRaw(streamOf(segmentsOf({99})));
  EXPECT_EQ(readFrom(*socket_).segments, segmentsOf({99}));
  const uint32_t tooLarge[] = {0, 100};
  sendRaw({reinterpret_cast<const uint8_t*>(tooLarge), sizeof tooLarge});
  EXPECT_NE(failureOf(begin(*socket_)).find("more words"), std::string::npos);
}

TEST_F(MessageSocketTest, HundredsOfSegmentsAreRefused) {
  Segments most(511);
  sendRaw(streamOf(most));
  EXPECT_EQ(readFrom(*socket_).segments, most);
  for (const uint32_t last : {511u, 512u, UINT32_MAX}) {
    SCOPED_TRACE(last);
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    MessageSocket socket(io_.unixEventPort, UniqueFd(ends[0]), kMaxFds);
    peer_.reset(ends[1]);
    const uint32_t table[] = {last, 1};
    sendRaw({reinterpret_cast<const uint8_t*>(table), sizeof table});
    EXPECT_NE(failureOf(begin(socket)).find("too many segments"), std::string::npos);
  }
}

TEST_F(MessageSocketTest, DescriptorsThatNobodyExpectsAreClosed) {
  const UniqueFd file = someFile();
  const Segments segments = segmentsOf({kSmall});
  const std::vector<uint8_t> bytes = streamOf(segments);
  const size_t before = openFiles();
  // More than the maximum for one message.
  sendRaw(bytes, std::vector<int>(kMaxFds + 1, file.get()));
  EXPECT_EQ(readFrom(*socket_).files.size(), size_t{kMaxFds});
  // Descriptors in the middle of a message, and twice with one.
  auto promise = begin(*socket_);
  for (const size_t at : {0u, 4u, 8u}) {
    sendRaw(std::span(bytes).subspan(at, 4), {file.get()});
    EXPECT_FALSE(promise.poll(io_.waitScope));
  }
  sendRaw(std::span(bytes).subspan(12));
  EXPECT_EQ(finish(kj::mv(promise)).files.size(), 1u);
  // Descriptors with a message that is never read.
  sendRaw(std::span(bytes).first(bytes.size() - 1), {file.get()});
  EXPECT_FALSE(begin(*socket_).poll(io_.waitScope));
  socket_.reset();
  EXPECT_EQ(openFiles(), before);
  EXPECT_TRUE(becomes([&] { return openDescriptors(socketName_) == 0; }));
}

// Cap'n Proto closes descriptors on its thread, so it never gets one whose close could block.
TEST_F(MessageSocketTest, WhatIsNoMemoryIsStoodFor) {
  int pipe[2];
  ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
  const UniqueFd reading(pipe[0]);
  const UniqueFd writing(pipe[1]);
  const UniqueFd file = someFile();
  const std::string name = fmt::format("pipe:[{}]", inodeOf(reading.get()));
  ASSERT_EQ(openDescriptors(name), 2u);
  sendRaw(streamOf(segmentsOf({kSmall})), {reading.get(), file.get()});
  auto promise = begin(*socket_);
  const auto received = promise.wait(io_.waitScope);
  ASSERT_NE(space_[0].get(), -1);
  EXPECT_NE(inodeOf(space_[0].get()), inodeOf(reading.get()));
  EXPECT_EQ(inodeOf(space_[1].get()), inodeOf(file.get()));
  {
    const Result<ForeignFd> taken = takeReceived(space_[0].get());
    ASSERT_TRUE(taken.ok()) << taken.status().toString();
    EXPECT_EQ(inodeOf(taken->get()), inodeOf(reading.get()));
    const Result<ForeignFd> memory = takeReceived(space_[1].get());
    ASSERT_TRUE(memory.ok()) << memory.status().toString();
    EXPECT_EQ(inodeOf(memory->get()), inodeOf(file.get()));
  }
  // A socket of this process has no stand-in.
  EXPECT_EQ(inodeOf(takeReceived(peer_.get())->get()), inodeOf(peer_.get()));
  space_[0] = nullptr;
  space_[1] = nullptr;
  EXPECT_TRUE(becomes([&] { return openDescriptors(name) == 2; }));
}

TEST_F(MessageSocketTest, NobodyWaitsForWhatLingers) {
  constexpr std::chrono::seconds kLinger{60};
  const std::vector<uint8_t> bytes = streamOf(segmentsOf({kSmall}));
  const auto begun = std::chrono::steady_clock::now();
  std::vector<LingeringSocket> sockets;  // kept to the end: without a peer, no socket lingers
  const auto lingering = [&](std::span<const uint8_t> part, size_t count) {
    LingeringSocket& socket = sockets.emplace_back(kLinger);
    ASSERT_GE(socket.get(), 0);
    sendRaw(part, std::vector<int>(count, socket.get()));
    socket.close();
  };
  // With a message, too many with one, in the middle of one, with an incomplete one, and unread.
  lingering(bytes, 1);
  finish(begin(*socket_));
  lingering(bytes, kMaxFds + 3);
  finish(begin(*socket_));
  sendRaw(std::span(bytes).first(4));
  auto promise = begin(*socket_);
  EXPECT_FALSE(promise.poll(io_.waitScope));
  lingering(std::span(bytes).subspan(4, 4), 1);
  EXPECT_FALSE(promise.poll(io_.waitScope));
  lingering(std::span(bytes).subspan(8), 1);
  finish(kj::mv(promise));
  lingering(std::span(bytes).first(4), 1);
  EXPECT_FALSE(begin(*socket_).poll(io_.waitScope));
  lingering(std::span(bytes).subspan(4), 1);
  socket_.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, kLinger / 2);
}

// A socket whose peer has such a quota.
class ChargedSocket : public MessageSocketTest {
 protected:
  void limit(const QuotaLimits& limits) {
    quota_ = Quota::create(limits, "the peer");
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    socket_ = std::make_unique<MessageSocket>(io_.unixEventPort, UniqueFd(ends[0]), kMaxFds,
                                              PeerTerms{quota_, nullptr});
    peer_.reset(ends[1]);
  }
  uint64_t held(Quota::Resource resource) const { return quota_->held(resource); }

  std::shared_ptr<Quota> quota_;
};

TEST_F(ChargedSocket, MemoryGrowsWithWhatComes) {
  limit({});
  constexpr size_t kWords = 100'000;
  const std::vector<uint8_t> bytes = streamOf(segmentsOf({kWords}));
  auto promise = begin(*socket_);
  size_t sent = 0;
  for (const size_t part : {16u, 100u, 60'000u, 60'000u, 200'000u}) {
    sendRaw(std::span(bytes).subspan(sent, part));
    sent += part;
    EXPECT_FALSE(promise.poll(io_.waitScope));
    EXPECT_LE(held(Quota::Resource::MEMORY), 64 * 1024 + 2 * sent);
    EXPECT_GE(held(Quota::Resource::MEMORY), sent);
  }
  while (sent < bytes.size()) {
    const size_t part = std::min<size_t>(bytes.size() - sent, 100'000);
    sendRaw(std::span(bytes).subspan(sent, part));
    sent += part;
    if (sent < bytes.size()) {
      EXPECT_FALSE(promise.poll(io_.waitScope));
    }
  }
  {
    const auto message = promise.wait(io_.waitScope);
    EXPECT_EQ(held(Quota::Resource::MEMORY), bytes.size());
  }
  EXPECT_EQ(held(Quota::Resource::MEMORY), 0u);
}

TEST_F(ChargedSocket, AMessageForWhichThereIsNoRoomIsRefused) {
  limit({.memoryBytes = 200'000});
  const std::vector<uint8_t> bytes = streamOf(segmentsOf({100'000}));
  auto promise = begin(*socket_);
  sendRaw(std::span(bytes).first(150'000));
  EXPECT_NE(failureOf(kj::mv(promise)).find("bytes of memory"), std::string::npos);
  EXPECT_EQ(failureType_, kj::Exception::Type::OVERLOADED);
}

TEST_F(ChargedSocket, DescriptorsAreChargedUntilTheirMessageIsThere) {
  limit({.descriptors = 3});
  const UniqueFd file = someFile();
  const std::vector<uint8_t> bytes = streamOf(segmentsOf({kSmall}));
  auto promise = begin(*socket_);
  sendRaw(std::span(bytes).first(4), {file.get(), file.get()});
  EXPECT_FALSE(promise.poll(io_.waitScope));
  EXPECT_EQ(held(Quota::Resource::DESCRIPTORS), 2u);
  sendRaw(std::span(bytes).subspan(4));
  EXPECT_EQ(finish(kj::mv(promise)).files.size(), 2u);
  EXPECT_EQ(held(Quota::Resource::DESCRIPTORS), 0u);
  // The descriptors exceed the peer's quota. A call that needs one gets the reason.
  promise = begin(*socket_);
  sendRaw(std::span(bytes).first(12), std::vector<int>(4, file.get()));
  EXPECT_FALSE(promise.poll(io_.waitScope));
  sendRaw(std::span(bytes).subspan(12));
  const auto received = promise.wait(io_.waitScope);
  const Result<ForeignFd> refused = takeReceived(space_[3].get());
  EXPECT_EQ(refused.status().code(), ResultCode::RESOURCE_EXHAUSTED_TRANSIENT);
  for (kj::AutoCloseFd& fd : space_) fd = nullptr;
  EXPECT_EQ(held(Quota::Resource::DESCRIPTORS), 0u);
}

// A message that does not fit uses another descriptor of the socket, but only while it waits.
TEST_F(MessageSocketTest, WatchesForRoomOnlyWhileItWaits) {
  peer();
  const size_t before = openDescriptors(socketName_);
  const Segments segments = segmentsOf({kLarge});
  const auto pointers = pointersTo(segments);
  auto written = socket_->writeMessage(nullptr, kj::arrayPtr(pointers.data(), pointers.size()));
  EXPECT_FALSE(written.poll(io_.waitScope));
  EXPECT_EQ(openDescriptors(socketName_), before + 1);
  EXPECT_EQ(readFrom(peer()).segments, segments);
  written.wait(io_.waitScope);
  EXPECT_EQ(openDescriptors(socketName_), before);
}

TEST_F(MessageSocketTest, WritingToAPeerThatHasGoneIsADisconnection) {
  const Segments segments = segmentsOf({kLarge});
  const auto pointers = pointersTo(segments);
  auto waiting = socket_->writeMessage(nullptr, kj::arrayPtr(pointers.data(), pointers.size()));
  EXPECT_FALSE(waiting.poll(io_.waitScope));
  peer_.reset();
  for (int i = 0; i < 2; ++i) {
    const auto failure = kj::runCatchingExceptions([&] { waiting.wait(io_.waitScope); });
    KJ_IF_MAYBE (exception, failure) {
      EXPECT_EQ(exception->getType(), kj::Exception::Type::DISCONNECTED);
    } else {
      ADD_FAILURE() << "written to nobody";
    }
    waiting = socket_->writeMessage(nullptr, kj::arrayPtr(pointers.data(), pointers.size()));
  }
}

TEST_F(MessageSocketTest, ShutdownEndsWhatWaits) {
  auto promise = begin(*socket_);
  EXPECT_FALSE(promise.poll(io_.waitScope));
  socket_->shutdown();
  EXPECT_TRUE(finish(kj::mv(promise)).segments.empty());
  uint8_t byte = 0;
  EXPECT_EQ(::recv(peer_.get(), &byte, 1, 0), 0) << "the peer does not see the end";
}

TEST_F(MessageSocketTest, MessagesMayBeWrittenTogether) {
  const Segments one = segmentsOf({kSmall});
  const Segments two = segmentsOf({kLarge, 1});
  const auto first = pointersTo(one);
  const auto second = pointersTo(two);
  kj::ArrayPtr<const kj::ArrayPtr<const word>> both[] = {
      kj::arrayPtr(first.data(), first.size()), kj::arrayPtr(second.data(), second.size())};
  auto written = socket_->writeMessages(kj::arrayPtr(both, 2)).eagerlyEvaluate(nullptr);
  EXPECT_EQ(readFrom(peer()).segments, one);
  EXPECT_EQ(readFrom(peer()).segments, two);
  written.wait(io_.waitScope);
}

}  // namespace
}  // namespace halyard::hal
