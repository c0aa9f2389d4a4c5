// Descriptors that have come over a connection, between the socket and whoever takes them.
// Thread safety: ReceivedFds belongs to the loop thread; takeReceived may be called from any.
// Ownership: ReceivedFds owns the descriptors until Cap'n Proto lets go of them.
//
// Cap'n Proto closes what it has been given on the loop thread, where nothing may block. So it gets
// memory of the kernel's as it is, and in place of anything else a stand-in: one end of a socket
// pair of this process. The other end tells when the stand-in has been closed.
#pragma once

#include <kj/async-unix.h>
#include <kj/io.h>

#include <cstdint>
#include <map>
#include <memory>

#include "base/foreign_fd.h"
#include "hal/core/quota.h"
#include "halyard/driver/status.h"

namespace halyard::hal {

class ReceivedFds final : private kj::TaskSet::ErrorHandler {
 public:
  explicit ReceivedFds(kj::UnixEventPort& port) : port_(port) {}
  ReceivedFds(const ReceivedFds&) = delete;
  ReceivedFds& operator=(const ReceivedFds&) = delete;
  ~ReceivedFds() noexcept(false);

  // What Cap'n Proto is to get for `fd`; null when the process has no descriptors left.
  // `quota`: null, or what one is charged to until Cap'n Proto lets go of it.
  kj::AutoCloseFd give(ForeignFd fd, Quota* quota);
  // The same for one that has been refused, as its sender may not have more.
  static kj::AutoCloseFd giveRefused();

 private:
  // In this order: the observer first goes.
  struct Kept {
    Quota::Charge charge;
    ForeignFd fd;
    UniqueFd otherEnd;
    kj::Own<kj::UnixEventPort::FdObserver> closed;
  };

  void drop(uint64_t standIn);
  void taskFailed(kj::Exception&&) override {}

  kj::UnixEventPort& port_;
  std::map<uint64_t, Kept> kept_;  // by the stand-ins' cookies
  kj::TaskSet tasks_{*this};
};

// A duplicate of what `fd`, of a capability, stands for: the descriptor itself, or one that has
// come. RESOURCE_EXHAUSTED_TRANSIENT for a refused one, and when the process has none left.
Result<ForeignFd> takeReceived(int fd);

// For who passes a descriptor on that has come over a connection: a duplicate of what `fd` stands
// for. Invalid when it stands for nothing else.
ForeignFd originalOf(int fd);

}  // namespace halyard::hal
