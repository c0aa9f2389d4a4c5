#include "hal/message_socket.h"

#include <capnp/serialize.h>
#include <endian.h>
#include <fcntl.h>
#include <kj/debug.h>
#include <limits.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>

namespace halyard::hal {
namespace {

using capnp::word;

// Messages up to this size are received together with others.
constexpr size_t kSharedBytes = size_t{1} << 15;
constexpr uint32_t kMaxSegments = 512;
constexpr size_t kMostHeaderBytes = (kMaxSegments + 1) * sizeof(uint32_t);
constexpr uint64_t kMalformed = UINT64_MAX;
constexpr size_t kMostFds = 253;  // with one message, by the kernel

// Throws what the call's errno stands for: DISCONNECTED when the peer has gone.
[[noreturn]] void failCall(const char* call) {
  KJ_FAIL_SYSCALL(call, errno);  // NOLINT(bugprone-suspicious-semicolon): the macro's loop
}

using Control = std::array<kj::byte, CMSG_SPACE(kMostFds * sizeof(int))>;

uint32_t tableEntry(const kj::byte* bytes, size_t index) {
  uint32_t value = 0;
  std::memcpy(&value, bytes + index * sizeof value, sizeof value);
  return le32toh(value);
}

// The descriptors of one recvmsg.
std::vector<UniqueFd> descriptorsOf(msghdr& message) {
  std::vector<UniqueFd> fds;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
      fds.emplace_back(fd);
    }
  }
  return fds;
}

}  // namespace

// A message on its way out. Borrows its segments and descriptors.
struct MessageSocket::Outgoing {
  Outgoing(kj::ArrayPtr<const int> theFds, kj::ArrayPtr<const kj::ArrayPtr<const word>> segments)
      : fds(theFds), table((segments.size() + 2) / 2 * 2) {
    KJ_REQUIRE(segments.size() > 0, "a message has a segment at least");
    table[0] = htole32(static_cast<uint32_t>(segments.size() - 1));
    parts.reserve(segments.size() + 1);
    parts.push_back({table.data(), table.size() * sizeof(uint32_t)});
    for (size_t i = 0; i < segments.size(); ++i) {
      table[i + 1] = htole32(static_cast<uint32_t>(segments[i].size()));
      parts.push_back({const_cast<word*>(segments[i].begin()), segments[i].asBytes().size()});
    }
  }
  Outgoing(const Outgoing&) = delete;
  Outgoing& operator=(const Outgoing&) = delete;

  // Writes what there is room for. False: something is left.
  bool writeTo(int socket) {
    while (first < parts.size()) {
      msghdr message{};
      message.msg_iov = &parts[first];
      message.msg_iovlen = std::min<size_t>(parts.size() - first, IOV_MAX);
      alignas(cmsghdr) Control control;
      if (fds.size() > 0) putDescriptors(message, control);
      const ssize_t sent = ::sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent < 0) {
        if (errno == EINTR) continue;
        if (errno == EAGAIN || errno == EWOULDBLOCK) return false;
        failCall("sendmsg");
      }
      fds = nullptr;  // they have gone with the first bytes
      drop(static_cast<size_t>(sent));
    }
    return true;
  }

 private:
  void putDescriptors(msghdr& message, Control& control) const {
    KJ_REQUIRE(fds.size() <= kMostFds, "too many descriptors for one message");
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(fds.asBytes().size());
    std::memset(control.data(), 0, message.msg_controllen);
    cmsghdr* const part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(fds.asBytes().size());
    std::memcpy(CMSG_DATA(part), fds.begin(), fds.asBytes().size());
  }
  void drop(size_t bytes) {
    while (first < parts.size() && bytes >= parts[first].iov_len) bytes -= parts[first++].iov_len;
    if (bytes == 0) return;
    parts[first].iov_base = static_cast<kj::byte*>(parts[first].iov_base) + bytes;
    parts[first].iov_len -= bytes;
  }

  kj::ArrayPtr<const int> fds;
  std::vector<uint32_t> table;  // number of segments less one, their words, to a whole word
  std::vector<iovec> parts;
  size_t first = 0;
};

MessageSocket::MessageSocket(kj::UnixEventPort& port, UniqueFd socket, unsigned maxFds)
    : port_(port),
      socket_(std::move(socket)),
      maxFds_(std::min<unsigned>(maxFds, kMostFds)),
      readable_(port, socket_.get(), kj::UnixEventPort::FdObserver::OBSERVE_READ),
      space_(kj::heapArray<word>(kSharedBytes / sizeof(word))) {}

std::optional<uint64_t> MessageSocket::messageBytes(const kj::byte* bytes, size_t count) {
  if (count < sizeof(word)) return std::nullopt;
  const uint32_t last = tableEntry(bytes, 0);
  if (last >= kMaxSegments - 1) return kMalformed;
  const size_t header = (last + 3) / 2 * sizeof(word);
  if (count < header) return std::nullopt;
  uint64_t words = header / sizeof(word);
  for (uint32_t i = 0; i <= last; ++i) words += tableEntry(bytes, i + 1);
  return words * sizeof(word);
}

bool MessageSocket::isComplete() const {
  const kj::byte* const bytes = space_.asBytes().begin() + begin_;
  const auto size = messageBytes(bytes, end_ - begin_);
  return size && *size <= end_ - begin_;
}

void MessageSocket::makeRoom(uint64_t limit) {
  const size_t there = end_ - begin_;
  auto bytes = space_.asBytes();
  const auto known = messageBytes(bytes.begin() + begin_, there);
  if (known) {
    KJ_REQUIRE(*known != kMalformed, "a message with too many segments");
    KJ_REQUIRE(*known / sizeof(word) <= limit, "a message of more words than it may have",
               *known / sizeof(word), limit);
  }
  const uint64_t size = known.value_or(kMostHeaderBytes);
  if (begin_ + size <= bytes.size() && end_ < bytes.size()) return;
  if (size <= kSharedBytes) {
    std::memmove(bytes.begin(), bytes.begin() + begin_, there);
  } else {
    // Exactly as large: what comes behind the message stays where it is until this one is read.
    auto larger = kj::heapArray<word>(size / sizeof(word));
    std::memcpy(larger.asBytes().begin(), bytes.begin() + begin_, there);
    space_ = kj::mv(larger);
  }
  begin_ = 0;
  end_ = there;
}

MessageSocket::Receipt MessageSocket::receive() {
  auto bytes = space_.asBytes();
  iovec into{bytes.begin() + end_, bytes.size() - end_};
  alignas(cmsghdr) Control control;
  for (;;) {
    msghdr message{};
    message.msg_iov = &into;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    // Not CMSG_SPACE: its padding would take one more.
    message.msg_controllen = maxFds_ == 0 ? 0 : CMSG_LEN(maxFds_ * sizeof(int));
    const ssize_t got = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return Receipt::NONE_YET;
      failCall("recvmsg");
    }
    if (got == 0) return Receipt::END;
    end_ += static_cast<size_t>(got);
    if (message.msg_controllen > 0) attach(descriptorsOf(message), static_cast<size_t>(got));
    return Receipt::DATA;
  }
}

// A peer writes a message with its descriptors at once, and the kernel ends a receipt behind the
// piece that they came with: they belong to the last message that begins in it.
void MessageSocket::attach(std::vector<UniqueFd> fds, size_t bytes) {
  if (fds.empty()) return;
  size_t at = begin_;
  for (;;) {
    const auto size = messageBytes(space_.asBytes().begin() + at, end_ - at);
    if (!size || *size >= end_ - at) break;
    at += static_cast<size_t>(*size);
  }
  if (at + bytes < end_) return;  // in the middle of a message: nobody's
  const uint64_t beginning = position_ + (at - begin_);
  if (!attached_.empty() && attached_.back().beginning == beginning) return;
  attached_.push_back({beginning, std::move(fds)});
}

capnp::MessageReaderAndFds MessageSocket::take(kj::ArrayPtr<kj::AutoCloseFd> fdSpace,
                                               capnp::ReaderOptions options) {
  const auto bytes = space_.asBytes();
  const uint64_t size = *messageBytes(bytes.begin() + begin_, end_ - begin_);
  KJ_REQUIRE(size / sizeof(word) <= options.traversalLimitInWords,
             "a message of more words than it may have", size / sizeof(word),
             options.traversalLimitInWords);
  kj::Array<word> words;
  if (bytes.size() > kSharedBytes) {
    words = kj::mv(space_);
    space_ = kj::heapArray<word>(kSharedBytes / sizeof(word));
    begin_ = end_ = 0;
  } else {
    words = kj::heapArray<word>(size / sizeof(word));
    std::memcpy(words.begin(), bytes.begin() + begin_, size);
    begin_ += static_cast<size_t>(size);
    if (begin_ == end_) begin_ = end_ = 0;
  }
  size_t count = 0;
  if (!attached_.empty() && attached_.front().beginning == position_) {
    for (UniqueFd& fd : attached_.front().fds) {
      if (count < fdSpace.size()) fdSpace[count++] = kj::AutoCloseFd(fd.release());
    }
    attached_.pop_front();
  }
  position_ += size;
  const kj::ArrayPtr<const word> view = words;
  return {kj::heap<capnp::FlatArrayMessageReader>(view, options).attach(kj::mv(words)),
          fdSpace.slice(0, count)};
}

kj::Promise<MessageSocket::Received> MessageSocket::tryReadMessage(
    kj::ArrayPtr<kj::AutoCloseFd> fdSpace, capnp::ReaderOptions options, kj::ArrayPtr<word>) {
  // One that came with others has its turn when all is done that follows from those before it,
  // their answers' writing above all: whoever reads faster than it writes collects answers.
  if (isComplete()) {
    return kj::evalLast([this, fdSpace, options] { return Received(take(fdSpace, options)); });
  }
  return kj::evalNow([&]() -> kj::Promise<Received> {
    while (!isComplete()) {
      makeRoom(options.traversalLimitInWords);
      const Receipt receipt = receive();
      if (receipt == Receipt::NONE_YET) {
        return readable_.whenBecomesReadable().then(
            [this, fdSpace, options] { return tryReadMessage(fdSpace, options); });
      }
      if (receipt == Receipt::END) {
        if (begin_ == end_) return Received();
        return KJ_EXCEPTION(DISCONNECTED, "the stream ends within a message");
      }
    }
    return Received(take(fdSpace, options));
  });
}

kj::Promise<void> MessageSocket::writeMessage(
    kj::ArrayPtr<const int> fds, kj::ArrayPtr<const kj::ArrayPtr<const word>> segments) {
  return kj::evalNow([&]() -> kj::Promise<void> {
    auto outgoing = kj::heap<Outgoing>(fds, segments);
    if (outgoing->writeTo(socket_.get())) return kj::READY_NOW;
    return sendRest(kj::mv(outgoing));
  });
}

kj::Promise<void> MessageSocket::sendRest(kj::Own<Outgoing> outgoing) {
  // An observer that is new tells of room that there has been since the last attempt, too.
  if (writable_ == nullptr) {
    writeSide_.reset(::fcntl(socket_.get(), F_DUPFD_CLOEXEC, 0));
    if (!writeSide_.valid()) failCall("fcntl(F_DUPFD_CLOEXEC)");
    writable_ = kj::heap<kj::UnixEventPort::FdObserver>(
        port_, writeSide_.get(), kj::UnixEventPort::FdObserver::OBSERVE_WRITE);
  }
  return KJ_ASSERT_NONNULL(writable_)->whenBecomesWritable().then(
      [this, outgoing = kj::mv(outgoing)]() mutable -> kj::Promise<void> {
        if (!outgoing->writeTo(socket_.get())) return sendRest(kj::mv(outgoing));
        writable_ = nullptr;
        writeSide_.reset();
        return kj::READY_NOW;
      });
}

kj::Promise<void> MessageSocket::writeMessages(
    kj::ArrayPtr<kj::ArrayPtr<const kj::ArrayPtr<const word>>> messages) {
  if (messages.size() == 0) return kj::READY_NOW;
  return writeMessage(nullptr, messages[0]).then([this, messages]() mutable {
    return writeMessages(messages.slice(1, messages.size()));
  });
}

kj::Maybe<int> MessageSocket::getSendBufferSize() {
  int bytes = 0;
  socklen_t length = sizeof bytes;
  if (::getsockopt(socket_.get(), SOL_SOCKET, SO_SNDBUF, &bytes, &length) != 0) return nullptr;
  return bytes;
}

kj::Promise<void> MessageSocket::end() {
  return kj::evalNow([&]() -> kj::Promise<void> {
    if (::shutdown(socket_.get(), SHUT_WR) != 0) failCall("shutdown");
    return kj::READY_NOW;
  });
}

void MessageSocket::shutdown() noexcept { (void)::shutdown(socket_.get(), SHUT_RDWR); }

}  // namespace halyard::hal
