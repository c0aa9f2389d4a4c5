// Doorbell: what the client of a ring wakes the driver with (docs/burst_format.md). The driver
// watches one descriptor of it, and neither reads nor writes that.
// Thread safety: ring and watched may be called from any thread. Ownership: owns its descriptors.
//
// Neither end trusts the other, and who has a descriptor can change what its open file description
// does to others who have it. So the doorbell is a pair of local sockets of which each end stays
// with its owner, and nothing is ever sent: both are shut down from the start. Shutting one down
// once more changes nothing, but wakes those who watch the other. The client does that to its own
// end, which never leaves its process. It cannot wait for anything, and raises no signal. An
// eventfd would not do: its writer waits when the counter is full and O_NONBLOCK is not set, and
// whoever has the descriptor can fill the one and clear the other.
#pragma once

#include "halyard/driver/status.h"
#include "halyard/driver/unique_fd.h"

namespace halyard::hal {

class Doorbell {
 public:
  // RESOURCE_EXHAUSTED_TRANSIENT when there is no descriptor left, OP_FAILED where the kernel does
  // not wake anybody by it.
  static Result<Doorbell> create();

  // Wakes the driver if it watches. Never waits, and raises no signal.
  void ring() const;
  // The driver's end, which is to be watched by edges: it is readable all the time.
  int watched() const { return watched_.get(); }

 private:
  Doorbell(UniqueFd own, UniqueFd watched) : own_(std::move(own)), watched_(std::move(watched)) {}
  static Result<Doorbell> makePair();

  UniqueFd own_;
  UniqueFd watched_;
};

// BAD_DATA unless `fd` is a local socket of the type, SOCK_STREAM or another. To watch such a
// socket, and to send through it with MSG_DONTWAIT and MSG_NOSIGNAL, never keeps one waiting,
// whoever else has it. The check does not wait either, whatever the descriptor is.
Status checkLocalSocket(int fd, int type);

}  // namespace halyard::hal
