// Descriptors in flight: sent over a Unix socket and not received yet. The kernel limits their
// number for each user (RLIMIT_NOFILE of the sender).
// Thread safety: one thread at a time.
// Ownership: InFlight owns its sockets and the descriptors in flight.
#pragma once

#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/testing/slow_descriptors.h"
#include "halyard/driver/unique_fd.h"

namespace halyard::testing {

// Drops the privileges of the calling thread that lift the limit. Returns false when the kernel
// refuses.
inline bool giveUpRights() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[2] = {};
  if (::syscall(SYS_capget, &header, sets) != 0) return false;
  sets[0].effective &= ~((1u << CAP_SYS_RESOURCE) | (1u << CAP_SYS_ADMIN));
  return ::syscall(SYS_capset, &header, sets) == 0;
}

// Sends this number of descriptors, or as many as the limit allows.
class InFlight {
 public:
  explicit InFlight(size_t count) {
    constexpr size_t kOfMessage = 100;
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return;
    sender_.reset(ends[0]);
    receiver_.reset(ends[1]);
    const UniqueFd file(::memfd_create("in flight", MFD_CLOEXEC));
    while (count > 0 && file.valid()) {
      const std::vector<int> fds(std::min(count, kOfMessage), file.get());
      if (!sendDescriptors(sender_.get(), fds)) {
        isRefused_ = errno == ETOOMANYREFS;
        return;
      }
      count -= fds.size();
    }
  }

  // Returns whether the limit was reached.
  bool isRefused() const { return isRefused_; }

 private:
  UniqueFd sender_;
  UniqueFd receiver_;
  bool isRefused_ = false;
};

}  // namespace halyard::testing
