// MessageSocket: Cap'n Proto messages over a Unix socket that passes file descriptors.
// Thread safety: loop thread only.
// Ownership: owns the socket and what has come and has not been read; a message that it gives owns
// its memory.
//
// kj's own stream has the kernel tell of every message that the peer has taken, since there is room
// to write then: each message wakes its sender once more, for nothing. This one asks for that only
// while something waits that did not fit, and takes messages with a system call for as many as
// have come.
#pragma once

#include <capnp/serialize-async.h>
#include <kj/async-unix.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "base/foreign_fd.h"
#include "hal/wire/received_fds.h"
#include "hal/core/quota.h"
#include "hal/wire/undelivered.h"
#include "halyard/driver/unique_fd.h"

namespace halyard::hal {

// What the peer of a connection may have here.
struct PeerTerms {
  // Charged for what has come of messages and waits; null: nothing is.
  std::shared_ptr<Quota> quota;
  // Its descriptors, once they are to be closed; null: those of all such peers.
  std::shared_ptr<ForeignAccount> closing;
  uint64_t mostWords = UINT64_MAX;  // of a message, header and all
};

class MessageSocket final : public capnp::MessageStream {
 public:
  // `socket`: a connected stream socket, blocking or not. Takes at most `maxFds` descriptors with
  // a message; what else comes with it is closed.
  MessageSocket(kj::UnixEventPort& port, UniqueFd socket, unsigned maxFds, PeerTerms terms = {});

  // Null at the end of the stream. Throws at an end within a message, at a message of more words
  // than the terms allow or the options let one traverse or of 512 segments or more, and,
  // OVERLOADED, at one for whose bytes the quota has no room. What comes with the message goes to
  // the beginning of `fdSpace`, which must outlive the promise, as ReceivedFds gives it.
  // `scratchSpace` is not used.
  kj::Promise<kj::Maybe<capnp::MessageReaderAndFds>> tryReadMessage(
      kj::ArrayPtr<kj::AutoCloseFd> fdSpace, capnp::ReaderOptions options = {},
      kj::ArrayPtr<capnp::word> scratchSpace = nullptr) override;
  // One at a time: the next after the promise has resolved.
  kj::Promise<void> writeMessage(
      kj::ArrayPtr<const int> fds,
      kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>> segments) override;
  kj::Promise<void> writeMessages(
      kj::ArrayPtr<kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>>> messages) override;
  kj::Maybe<int> getSendBufferSize() override;
  kj::Promise<void> end() override;
  ~MessageSocket() noexcept(false);
  KJ_DISALLOW_COPY(MessageSocket);
  using capnp::MessageStream::tryReadMessage;
  using capnp::MessageStream::writeMessage;
  using capnp::MessageStream::writeMessages;

  // Ends both directions, as if the peer had closed its end.
  void shutdown() noexcept;

 private:
  using Received = kj::Maybe<capnp::MessageReaderAndFds>;
  enum class Receipt { DATA, NONE_YET, END };
  struct Outgoing;
  // What came with the message that begins at this byte of the stream.
  struct Attached {
    uint64_t beginning = 0;
    std::vector<ForeignFd> fds;
    bool refused = false;  // there are more than the quota has room for
    Quota::Charge charge;
  };
  // Memory that grows where it is, if it can, and has no pages where nothing has come.
  class Space {
   public:
    explicit Space(size_t bytes);
    void grow(size_t bytes);
    kj::ArrayPtr<capnp::word> words() const { return {words_.get(), count_}; }
    kj::ArrayPtr<kj::byte> bytes() const { return words().asBytes(); }

   private:
    struct Free {
      void operator()(capnp::word* words) const;
    };
    std::unique_ptr<capnp::word, Free> words_;
    size_t count_ = 0;
  };

  // The size of the message that begins with these bytes, header and all: nothing while too little
  // of its header is there, kMalformed for one that no message may have.
  static std::optional<uint64_t> messageBytes(const kj::byte* bytes, size_t count);

  bool isComplete() const;  // the first message
  // Room for more of the first message, which may have so many words.
  void makeRoom(uint64_t limit);
  void growTo(size_t bytes);
  bool isGrown() const;
  Receipt receive();
  // The descriptors of one recvmsg, but for those that are too many.
  std::vector<ForeignFd> descriptorsOf(msghdr& message) const;
  // The descriptors came with the last `bytes` that have been received.
  void attach(std::vector<ForeignFd> fds, size_t bytes);
  size_t giveAttached(kj::ArrayPtr<kj::AutoCloseFd> fdSpace);
  capnp::MessageReaderAndFds take(kj::ArrayPtr<kj::AutoCloseFd> fdSpace,
                                  capnp::ReaderOptions options);

  // Readable, or there is something of undelivered_.
  kj::Promise<void> whenIncoming();
  kj::Promise<void> send(kj::Own<Outgoing> outgoing);
  kj::Promise<void> sendRest(kj::Own<Outgoing> outgoing);

  kj::UnixEventPort& port_;
  const unsigned maxFds_;
  const PeerTerms terms_;
  const ForeignFd socket_;
  ReceivedFds received_;
  kj::UnixEventPort::FdObserver readable_;
  // While something waits to be written: the socket once more, and its observer.
  UniqueFd writeSide_;
  kj::Maybe<kj::Own<kj::UnixEventPort::FdObserver>> writable_;

  Undelivered undelivered_;
  kj::Own<kj::PromiseFulfiller<void>> undeliveredComes_;  // while somebody reads

  // What has come and has not been read: the bytes of space_ from begin_ to end_. It begins with a
  // message, before which position_ bytes have come.
  Space space_;
  Quota::Charge spaceCharge_;
  size_t begin_ = 0;
  size_t end_ = 0;
  uint64_t position_ = 0;
  std::deque<Attached> attached_;  // by their beginnings
};

}  // namespace halyard::hal
