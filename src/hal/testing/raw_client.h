// RawClient: a client of a service that writes any bytes and need not read answers.
// Thread safety: one thread at a time. Ownership: owns its socket.
#pragma once

#include <capnp/message.h>
#include <capnp/rpc.capnp.h>
#include <capnp/serialize.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <string>

#include "halyard/driver/unique_fd.h"

namespace halyard::hal::testing {

class RawClient {
 public:
  explicit RawClient(const std::string& path)
      : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    connected_ =
        ::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }

  // `fd` is a connected socket, which must be non-blocking.
  explicit RawClient(UniqueFd fd) : fd_(std::move(fd)), connected_(fd_.valid()) {}

  bool connected() const { return connected_; }
  int fd() const { return fd_.get(); }

  // A Bootstrap message with the number of the next question. If `finished`, a Finish message for
  // it follows.
  std::string bootstrap(bool finished) {
    capnp::MallocMessageBuilder message;
    message.initRoot<capnp::rpc::Message>().initBootstrap().setQuestionId(question_);
    std::string bytes = flat(message);
    if (finished) {
      capnp::MallocMessageBuilder finish;
      finish.initRoot<capnp::rpc::Message>().initFinish().setQuestionId(question_);
      bytes += flat(finish);
    }
    ++question_;
    return bytes;
  }
  // False when the peer has accepted no bytes for `patience`, or has closed. The next call first
  // writes the rest of `bytes`. So the peer never gets an incomplete message.
  bool write(const std::string& bytes, std::chrono::milliseconds patience) {
    unsent_ += bytes;
    size_t done = 0;
    bool taken = true;
    while (taken && done < unsent_.size()) {
      const ssize_t count =
          ::send(fd_.get(), unsent_.data() + done, unsent_.size() - done, MSG_NOSIGNAL);
      if (count > 0) {
        done += static_cast<size_t>(count);
        continue;
      }
      pollfd poll{fd_.get(), POLLOUT, 0};
      taken = errno == EAGAIN && ::poll(&poll, 1, static_cast<int>(patience.count())) == 1;
    }
    unsent_.erase(0, done);
    return taken;
  }
  // Does the same for a client that always reads. It discards the answers, so that the peer never
  // waits for it.
  bool exchange(const std::string& bytes, std::chrono::milliseconds patience) {
    const auto end = std::chrono::steady_clock::now() + patience;
    std::string next = bytes;
    while (!write(next, std::chrono::milliseconds(1))) {
      next.clear();
      if (!discard() || std::chrono::steady_clock::now() >= end) return false;
    }
    return discard();
  }
  // Discards the received bytes. False when the peer has closed.
  bool discard() {
    char buffer[65536];
    for (;;) {
      const ssize_t count = ::recv(fd_.get(), buffer, sizeof buffer, 0);
      if (count == 0) return false;
      if (count < 0) return errno == EAGAIN;
    }
  }
  // Whether bytes arrive within `patience` and the peer has not closed.
  bool isAnswered(std::chrono::milliseconds patience) {
    pollfd poll{fd_.get(), POLLIN, 0};
    return ::poll(&poll, 1, static_cast<int>(patience.count())) == 1 && discard();
  }

 private:
  static std::string flat(capnp::MessageBuilder& message) {
    const auto words = capnp::messageToFlatArray(message);
    return {words.asBytes().asChars().begin(), words.asBytes().size()};
  }

  UniqueFd fd_;
  bool connected_ = false;
  uint32_t question_ = 0;
  std::string unsent_;
};

}  // namespace halyard::hal::testing
