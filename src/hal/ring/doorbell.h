// Doorbell: what the client of a ring wakes the driver with (docs/burst_format.md). The driver
// watches one descriptor of it, and neither reads nor writes that.
// Thread safety: ring and watched may be called from any thread. Ownership: owns its descriptors.
//
// Neither end trusts the other, and both have the same open file description. So the doorbell is a
// pair of datagram sockets of which none takes anything. A datagram that is sent from the watched
// one is refused at once, and the memory that it gives back wakes those who wait until they may
// send. Nothing can fill up, and nothing is kept for others. Whether a send waits, and whether it
// raises a signal, is said with each send: what the driver does to its copy changes neither.
// An eventfd would not do: its writer waits when the counter is full and O_NONBLOCK is not set, and
// whoever has the descriptor can fill the one and clear the other.
#pragma once

#include <cstdint>

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
  // What the driver is to watch.
  int watched() const { return watched_.get(); }

 private:
  Doorbell(UniqueFd watched, UniqueFd closed)
      : watched_(std::move(watched)), closed_(std::move(closed)) {}
  static Result<Doorbell> makePair();

  UniqueFd watched_;
  UniqueFd closed_;  // the other end, which refuses what is sent
};

// What epoll is to tell of a doorbell: by edges, for it is ready all the time.
uint32_t doorbellEvents();

// BAD_DATA unless `fd` is a local socket of the type, SOCK_DGRAM or another. To watch such a
// socket, and to send through it with MSG_DONTWAIT and MSG_NOSIGNAL, never keeps one waiting,
// whoever else has it. The check does not wait either, whatever the descriptor is.
Status checkLocalSocket(int fd, int type);

}  // namespace halyard::hal
