// Descriptors received over a connection, between the socket and their users.
// Thread safety: ReceivedFds belongs to the loop thread; any thread may call takeReceived.
// Ownership: ReceivedFds owns the descriptors until Cap'n Proto releases them.
//
// Cap'n Proto closes its descriptors on the loop thread, which must never block. So it gets memory
// of the kernel directly. For any other descriptor it gets a stand-in: one end of a socket pair of
// this process. The other end tells when the stand-in has been closed.
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

  // Returns the descriptor for Cap'n Proto in place of `fd`; null when the process has no
  // descriptors left. `quota`: null, or charged until Cap'n Proto releases the descriptor.
  kj::AutoCloseFd give(ForeignFd fd, Quota* quota);
  // The same for a refused descriptor, because its sender may not have more.
  static kj::AutoCloseFd giveRefused();

 private:
  // The order matters: the observer must be destroyed first.
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

// Returns a duplicate of the descriptor of a capability, or of the received descriptor that it
// represents. Returns RESOURCE_EXHAUSTED_TRANSIENT for a refused one, and when the process has no
// descriptors left.
Result<ForeignFd> takeReceived(int fd);

// Returns a duplicate of the original of stand-in `fd`, for passing it on. Invalid when `fd` is no
// stand-in.
ForeignFd originalOf(int fd);

}  // namespace halyard::hal
