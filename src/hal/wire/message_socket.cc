#include "hal/wire/message_socket.h"

#include <capnp/serialize.h>
#include <endian.h>
#include <fcntl.h>
#include <kj/debug.h>
#include <limits.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <span>
#include <string>
#include <utility>

#include "halyard/driver/status.h"

namespace halyard::hal {
namespace {

using capnp::word;

// Messages up to this size are received together with others.
constexpr size_t kSharedBytes = size_t{1} << 15;
constexpr uint32_t kMaxSegments = 512;
constexpr size_t kMostHeaderBytes = (kMaxSegments + 1) * sizeof(uint32_t);
constexpr uint64_t kMalformed = UINT64_MAX;
constexpr size_t kMostFds = 253;  // the kernel's limit for one message

// Throws the exception for the call's errno: DISCONNECTED when the peer has gone.
[[noreturn]] void failCall(const char* call) {
  KJ_FAIL_SYSCALL(call, errno);  // NOLINT(bugprone-suspicious-semicolon): the macro's loop
}

using Control = std::array<kj::byte, CMSG_SPACE(kMostFds * sizeof(int))>;

uint32_t tableEntry(const kj::byte* bytes, size_t index) {
  uint32_t value = 0;
  std::memcpy(&value, bytes + index * sizeof value, sizeof value);
  return le32toh(value);
}

// Returns the reason why the kernel refused a message because of its descriptors; nullopt for other
// errors.
std::optional<std::string> refusalOf(int error) {
  if (error == ENOMEM || error == ENOBUFS) {
    return "the kernel has no memory for a message with descriptors";
  }
  if (error != ETOOMANYREFS) return std::nullopt;
  rlimit limit{};
  (void)::getrlimit(RLIMIT_NOFILE, &limit);
  return fmt::format(
      "the user has more descriptors on their way between processes than its limit of open files, "
      "{}, allows",
      limit.rlim_cur);
}

[[noreturn]] void failOverloaded(const Status& status) {
  kj::throwFatalException(
      KJ_EXCEPTION(OVERLOADED, "the message cannot be taken", status.message().c_str()));
}

}  // namespace

// An outgoing message. Borrows its segments and descriptors.
struct MessageSocket::Outgoing {
  Outgoing(kj::ArrayPtr<const int> theFds, kj::ArrayPtr<const kj::ArrayPtr<const word>> segments)
      : segments_(segments), fds(theFds), table((segments.size() + 2) / 2 * 2) {
    KJ_REQUIRE(segments.size() > 0, "a message has a segment at least");
    passOn(theFds);
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

  enum class Progress { DONE, NO_ROOM, REFUSED };
  // Writes as much as fits. NO_ROOM: a rest remains. REFUSED, with `error`: the kernel does not
  // accept the descriptors, and nothing was written.
  Progress writeTo(int socket, int* error) {
    while (first < parts.size()) {
      msghdr message{};
      message.msg_iov = &parts[first];
      message.msg_iovlen = std::min<size_t>(parts.size() - first, IOV_MAX);
      alignas(cmsghdr) Control control;
      if (fds.size() > 0) putDescriptors(message, control);
      const ssize_t sent = ::sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent < 0) {
        if (errno == EINTR) continue;
        if (errno == EAGAIN || errno == EWOULDBLOCK) return Progress::NO_ROOM;
        *error = errno;
        if (fds.size() > 0 && refusalOf(*error)) return Progress::REFUSED;
        errno = *error;
        failCall("sendmsg");
      }
      fds = nullptr;  // sent with the first bytes
      drop(static_cast<size_t>(sent));
    }
    return Progress::DONE;
  }
  Undelivered::Segments all() const { return segments_; }

 private:
  // Descriptors that came over another connection are passed on as the originals.
  void passOn(kj::ArrayPtr<const int> given) {
    for (size_t i = 0; i < given.size(); ++i) {
      ForeignFd original = originalOf(given[i]);
      if (!original.valid()) continue;
      if (numbers.empty()) numbers.assign(given.begin(), given.end());
      numbers[i] = original.get();
      originals.push_back(std::move(original));
    }
    if (!numbers.empty()) fds = kj::arrayPtr(numbers.data(), numbers.size());
  }
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

  const Undelivered::Segments segments_;
  kj::ArrayPtr<const int> fds;
  std::vector<int> numbers;          // replaces the given ones if some are stand-ins
  std::vector<ForeignFd> originals;  // of the stand-ins
  std::vector<uint32_t> table;       // segments - 1, words of each, padding
  std::vector<iovec> parts;
  size_t first = 0;
};

MessageSocket::Space::Space(size_t bytes) { grow(bytes); }

void MessageSocket::Space::grow(size_t bytes) {
  auto* const larger = static_cast<word*>(std::realloc(words_.get(), bytes));
  if (larger == nullptr) throw std::bad_alloc();
  (void)words_.release();
  words_.reset(larger);
  count_ = bytes / sizeof(word);
}

void MessageSocket::Space::Free::operator()(word* words) const { std::free(words); }

MessageSocket::MessageSocket(kj::UnixEventPort& port, UniqueFd socket, unsigned maxFds,
                             PeerTerms terms)
    : port_(port),
      maxFds_(std::min<unsigned>(maxFds, kMostFds)),
      terms_(std::move(terms)),
      socket_(std::move(socket)),
      received_(port),
      readable_(port, socket_.get(), kj::UnixEventPort::FdObserver::OBSERVE_READ),
      space_(kSharedBytes) {
  if (terms_.closing != nullptr) assignForeign(socket_.get(), terms_.closing);
}

// The peer sees the end now. The time of the socket's close does not matter, nor does a forked
// child with a copy.
MessageSocket::~MessageSocket() noexcept(false) { shutdown(); }

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
  const kj::byte* const bytes = space_.bytes().begin() + begin_;
  const auto size = messageBytes(bytes, end_ - begin_);
  return size && *size <= end_ - begin_;
}

void MessageSocket::makeRoom(uint64_t limit) {
  const size_t there = end_ - begin_;
  auto bytes = space_.bytes();
  const auto known = messageBytes(bytes.begin() + begin_, there);
  if (known) {
    KJ_REQUIRE(*known != kMalformed, "a message with too many segments");
    KJ_REQUIRE(*known / sizeof(word) <= limit, "a message of more words than it may have",
               *known / sizeof(word), limit);
  }
  const uint64_t size = known.value_or(kMostHeaderBytes);
  if (end_ < bytes.size() && (begin_ + size <= bytes.size() || isGrown())) return;
  if (begin_ > 0) std::memmove(bytes.begin(), bytes.begin() + begin_, there);
  begin_ = 0;
  end_ = there;
  if (size <= kSharedBytes) return;
  // The space depends on the received bytes, and never exceeds the message. Later bytes stay in the
  // socket until this message has been read.
  constexpr size_t kFirst = 2 * kSharedBytes;
  growTo(std::min<size_t>(size, std::max(kFirst, 2 * there)) / sizeof(word) * sizeof(word));
}

bool MessageSocket::isGrown() const { return space_.bytes().size() > kSharedBytes; }

void MessageSocket::growTo(size_t bytes) {
  if (terms_.quota != nullptr) {
    if (!isGrown()) {
      auto charge = terms_.quota->charge(Quota::Resource::MEMORY, bytes);
      if (!charge.ok()) failOverloaded(charge.status());
      spaceCharge_ = std::move(*charge);
    } else {
      const Status added = spaceCharge_.add(bytes - space_.bytes().size());
      if (!added.ok()) failOverloaded(added);
    }
  }
  space_.grow(bytes);
}

MessageSocket::Receipt MessageSocket::receive() {
  if (terms_.closing != nullptr && terms_.closing->isBehind()) {
    failOverloaded(makeStatus(ResultCode::RESOURCE_EXHAUSTED_TRANSIENT,
                              "{} descriptors that have come from here cannot be closed",
                              terms_.closing->pending()));
  }
  auto bytes = space_.bytes();
  iovec into{bytes.begin() + end_, bytes.size() - end_};
  alignas(cmsghdr) Control control;
  for (;;) {
    msghdr message{};
    message.msg_iov = &into;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    // The space is for the maximum number, because the kernel closes all others on this thread.
    message.msg_controllen = control.size();
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

std::vector<ForeignFd> MessageSocket::descriptorsOf(msghdr& message) const {
  std::vector<ForeignFd> fds;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(part) + i * sizeof number, sizeof number);
      ForeignFd fd(number);
      if (terms_.closing != nullptr && !isKernelMemory(number)) {
        assignForeign(number, terms_.closing);
      }
      if (fds.size() < maxFds_) fds.push_back(std::move(fd));
    }
  }
  return fds;
}

// A peer sends a message together with its descriptors, and the kernel ends a recvmsg after the
// piece with descriptors. So they belong to the last message that begins in the received bytes.
void MessageSocket::attach(std::vector<ForeignFd> fds, size_t bytes) {
  if (fds.empty()) return;
  size_t at = begin_;
  for (;;) {
    const auto size = messageBytes(space_.bytes().begin() + at, end_ - at);
    if (!size || *size >= end_ - at) break;
    at += static_cast<size_t>(*size);
  }
  if (at + bytes < end_) return;  // in the middle of a message: they belong to none
  const uint64_t beginning = position_ + (at - begin_);
  if (!attached_.empty() && attached_.back().beginning == beginning) return;
  Attached& attached = attached_.emplace_back(Attached{beginning, std::move(fds), false, {}});
  // A complete message is taken now, and its result is charged.
  const auto size = messageBytes(space_.bytes().begin() + at, end_ - at);
  if (terms_.quota == nullptr || (size && *size <= end_ - at)) return;
  auto charge = terms_.quota->charge(Quota::Resource::DESCRIPTORS, attached.fds.size());
  if (charge.ok()) {
    attached.charge = std::move(*charge);
    return;
  }
  attached.refused = true;
  for (ForeignFd& fd : attached.fds) fd.reset();
}

size_t MessageSocket::giveAttached(kj::ArrayPtr<kj::AutoCloseFd> fdSpace) {
  if (attached_.empty() || attached_.front().beginning != position_) return 0;
  Attached attached = std::move(attached_.front());
  attached_.pop_front();
  attached.charge = {};  // the result of the message is charged from now on
  const size_t count = std::min(attached.fds.size(), fdSpace.size());
  for (size_t i = 0; i < count; ++i) {
    fdSpace[i] = attached.refused ? ReceivedFds::giveRefused()
                                  : received_.give(std::move(attached.fds[i]), terms_.quota.get());
  }
  return count;
}

capnp::MessageReaderAndFds MessageSocket::take(kj::ArrayPtr<kj::AutoCloseFd> fdSpace,
                                               capnp::ReaderOptions options) {
  const auto bytes = space_.bytes();
  const uint64_t size = *messageBytes(bytes.begin() + begin_, end_ - begin_);
  const uint64_t limit = std::min(options.traversalLimitInWords, terms_.mostWords);
  KJ_REQUIRE(size / sizeof(word) <= limit, "a message of more words than it may have",
             size / sizeof(word), limit);
  kj::Own<capnp::MessageReader> reader;
  if (isGrown()) {
    Space space = std::exchange(space_, Space(kSharedBytes));
    const kj::ArrayPtr<const word> view = space.words();
    reader = kj::heap<capnp::FlatArrayMessageReader>(view, options)
                 .attach(std::move(space), std::exchange(spaceCharge_, Quota::Charge()));
    begin_ = end_ = 0;
  } else {
    auto words = kj::heapArray<word>(size / sizeof(word));
    std::memcpy(words.begin(), bytes.begin() + begin_, size);
    const kj::ArrayPtr<const word> view = words;
    reader = kj::heap<capnp::FlatArrayMessageReader>(view, options).attach(kj::mv(words));
    begin_ += static_cast<size_t>(size);
    if (begin_ == end_) begin_ = end_ = 0;
  }
  const size_t count = giveAttached(fdSpace);
  position_ += size;
  if (undelivered_.isAwaiting()) undelivered_.look(*reader);
  return {kj::mv(reader), fdSpace.slice(0, count)};
}

kj::Promise<void> MessageSocket::whenIncoming() {
  auto comes = kj::newPromiseAndFulfiller<void>();
  undeliveredComes_ = kj::mv(comes.fulfiller);
  return readable_.whenBecomesReadable().exclusiveJoin(kj::mv(comes.promise));
}

kj::Promise<MessageSocket::Received> MessageSocket::tryReadMessage(
    kj::ArrayPtr<kj::AutoCloseFd> fdSpace, capnp::ReaderOptions options, kj::ArrayPtr<word>) {
  if (undelivered_.hasIncoming()) {
    auto words = undelivered_.takeIncoming();
    const kj::ArrayPtr<const word> view = words;
    kj::Own<capnp::MessageReader> reader =
        kj::heap<capnp::FlatArrayMessageReader>(view, options).attach(kj::mv(words));
    return Received(capnp::MessageReaderAndFds{kj::mv(reader), nullptr});
  }
  // If several messages came together, each next one waits until all work for the previous ones is
  // done, especially writing their answers. Otherwise a socket that reads faster than it writes
  // collects answers.
  if (isComplete()) {
    return kj::evalLast([this, fdSpace, options] { return Received(take(fdSpace, options)); });
  }
  return kj::evalNow([&]() -> kj::Promise<Received> {
    while (!isComplete()) {
      makeRoom(std::min(options.traversalLimitInWords, terms_.mostWords));
      const Receipt receipt = receive();
      if (receipt == Receipt::NONE_YET) {
        return whenIncoming().then(
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
    if (undelivered_.concernsUnsent(segments)) return kj::READY_NOW;
    return send(kj::heap<Outgoing>(fds, segments));
  });
}

kj::Promise<void> MessageSocket::send(kj::Own<Outgoing> outgoing) {
  int error = 0;
  switch (outgoing->writeTo(socket_.get(), &error)) {
    case Outgoing::Progress::DONE:
      writable_ = nullptr;
      writeSide_.reset();
      return kj::READY_NOW;
    case Outgoing::Progress::NO_ROOM:
      return sendRest(kj::mv(outgoing));
    case Outgoing::Progress::REFUSED:
      break;
  }
  Undelivered::Message instead;
  switch (undelivered_.replace(outgoing->all(), *refusalOf(error), &instead)) {
    case Undelivered::Outcome::DONE:
      if (undeliveredComes_.get() != nullptr) undeliveredComes_->fulfill();
      return kj::READY_NOW;
    case Undelivered::Outcome::SEND_ELSE: {
      auto answer = kj::heap<Outgoing>(nullptr, instead->getSegmentsForOutput());
      return send(answer.attach(kj::mv(instead)));
    }
    case Undelivered::Outcome::FATAL:
      break;
  }
  errno = error;
  failCall("sendmsg");
}

kj::Promise<void> MessageSocket::sendRest(kj::Own<Outgoing> outgoing) {
  // A new observer also reports space that became free since the last attempt.
  if (writable_ == nullptr) {
    writeSide_.reset(::fcntl(socket_.get(), F_DUPFD_CLOEXEC, 0));
    if (!writeSide_.valid()) failCall("fcntl(F_DUPFD_CLOEXEC)");
    writable_ = kj::heap<kj::UnixEventPort::FdObserver>(
        port_, writeSide_.get(), kj::UnixEventPort::FdObserver::OBSERVE_WRITE);
  }
  return KJ_ASSERT_NONNULL(writable_)->whenBecomesWritable().then(
      [this, outgoing = kj::mv(outgoing)]() mutable { return send(kj::mv(outgoing)); });
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
