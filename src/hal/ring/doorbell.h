// Doorbell: the client of a ring wakes the driver with it (docs/burst_format.md). The driver
// watches one descriptor of the doorbell, and neither reads nor writes it.
//
// The ends do not trust each other. A process with a descriptor can change its open file
// description for all other processes with it. So the doorbell is a pair of local sockets, and no
// data is ever sent. Both sockets are shut down from the start. Another shutdown of one socket
// changes nothing, but wakes the threads that watch the other socket. The client shuts down its own
// socket, which never leaves its process. That cannot block, and raises no signal. An eventfd is
// not suitable: its writer blocks when the counter is full and O_NONBLOCK is not set. Any process
// with the descriptor can fill the counter and clear the flag.
//
// Thread safety: ring and watched may be called from any thread.
// Ownership: owns its descriptors.
#pragma once

#include "halyard/driver/status.h"
#include "halyard/driver/unique_fd.h"

namespace halyard::hal {

class Doorbell {
 public:
  // RESOURCE_EXHAUSTED_TRANSIENT when no descriptor is left. OP_FAILED when the kernel does not
  // wake watching threads.
  static Result<Doorbell> create();

  // Wakes the driver if it watches. Never blocks, and raises no signal.
  void ring() const;
  // The driver's end. It is always readable, so the driver must watch it edge-triggered.
  int watched() const { return watched_.get(); }

 private:
  Doorbell(UniqueFd own, UniqueFd watched) : own_(std::move(own)), watched_(std::move(watched)) {}
  static Result<Doorbell> makePair();

  UniqueFd own_;
  UniqueFd watched_;
};

// BAD_DATA unless `fd` is a local socket of `type`, such as SOCK_STREAM. Two operations on such a
// socket never block: to watch it, and to send with MSG_DONTWAIT and MSG_NOSIGNAL. That holds even
// if a hostile process has the socket, too. The check itself does not block on any descriptor.
Status checkLocalSocket(int fd, int type);

}  // namespace halyard::hal
