// MessageSocket: Cap'n Proto messages over a Unix socket that passes file descriptors.
// Thread safety: loop thread only.
// Ownership: owns the socket and all unread input; a returned message owns its memory.
//
// kj's own stream always asks the kernel for write events. The kernel then wakes the sender after
// each message that the peer has read, without need. This class asks for write events only while
// data waits that did not fit. It also receives several messages with one system call.
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
#include "hal/core/quota.h"
#include "hal/wire/received_fds.h"
#include "hal/wire/undelivered.h"
#include "halyard/driver/unique_fd.h"

namespace halyard::hal {

// The limits for the peer of a connection.
struct PeerTerms {
  // The quota for waiting messages; null: no charge.
  std::shared_ptr<Quota> quota;
  // The account for closing the peer's descriptors; null: the account of all such peers.
  std::shared_ptr<ForeignAccount> closing;
  uint64_t mostWords = UINT64_MAX;  // of a message with its header
};

class MessageSocket final : public capnp::MessageStream {
 public:
  // `socket`: a connected stream socket, blocking or not. Accepts at most `maxFds` descriptors with
  // a message and closes the others.
  MessageSocket(kj::UnixEventPort& port, UniqueFd socket, unsigned maxFds, PeerTerms terms = {});

  // Returns null at the end of the stream. Throws at an end within a message. Throws at a message
  // with more words than the terms or the options allow, or with 512 segments or more. Throws
  // OVERLOADED at a message that exceeds the quota. The message's descriptors go to the beginning
  // of `fdSpace`, as ReceivedFds returns them. `fdSpace` must outlive the promise. `scratchSpace`
  // is not used.
  kj::Promise<kj::Maybe<capnp::MessageReaderAndFds>> tryReadMessage(
      kj::ArrayPtr<kj::AutoCloseFd> fdSpace, capnp::ReaderOptions options = {},
      kj::ArrayPtr<capnp::word> scratchSpace = nullptr) override;
  // One message at a time: the next one after the promise has resolved.
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
  // The descriptors that came with the message that begins at this byte of the stream.
  struct Attached {
    uint64_t beginning = 0;
    std::vector<ForeignFd> fds;
    bool refused = false;  // more than the quota allows
    Quota::Charge charge;
  };
  // Memory that grows in place if possible, and has no pages before data arrives.
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

  // Returns the size of the message that begins with these bytes, including its header. Returns
  // nothing while the header is incomplete, and kMalformed for an invalid message.
  static std::optional<uint64_t> messageBytes(const kj::byte* bytes, size_t count);

  bool isComplete() const;  // the first message
  // Makes room for more of the first message, up to this number of words.
  void makeRoom(uint64_t limit);
  void growTo(size_t bytes);
  bool isGrown() const;
  Receipt receive();
  // Returns the descriptors of one recvmsg, and closes those above the limit.
  std::vector<ForeignFd> descriptorsOf(msghdr& message) const;
  // The descriptors came with the last `bytes` received bytes.
  void attach(std::vector<ForeignFd> fds, size_t bytes);
  size_t giveAttached(kj::ArrayPtr<kj::AutoCloseFd> fdSpace);
  capnp::MessageReaderAndFds take(kj::ArrayPtr<kj::AutoCloseFd> fdSpace,
                                  capnp::ReaderOptions options);

  // Resolves when the socket is readable, or when undelivered_ has a message.
  kj::Promise<void> whenIncoming();
  kj::Promise<void> send(kj::Own<Outgoing> outgoing);
  kj::Promise<void> sendRest(kj::Own<Outgoing> outgoing);

  kj::UnixEventPort& port_;
  const unsigned maxFds_;
  const PeerTerms terms_;
  const ForeignFd socket_;
  ReceivedFds received_;
  kj::UnixEventPort::FdObserver readable_;
  // Used while data waits to be written: a second descriptor of the socket, and its observer.
  UniqueFd writeSide_;
  kj::Maybe<kj::Own<kj::UnixEventPort::FdObserver>> writable_;

  Undelivered undelivered_;
  kj::Own<kj::PromiseFulfiller<void>> undeliveredComes_;  // set during a read

  // Received data that has not been read: the bytes of space_ from begin_ to end_. It starts with a
  // message, which follows position_ earlier bytes of the stream.
  Space space_;
  Quota::Charge spaceCharge_;
  size_t begin_ = 0;
  size_t end_ = 0;
  uint64_t position_ = 0;
  std::deque<Attached> attached_;  // by their beginnings
};

}  // namespace halyard::hal
