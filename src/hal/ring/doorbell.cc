#include "hal/ring/doorbell.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>

namespace halyard::hal {
namespace {

// Returns -1 when the descriptor is not a socket.
int socketOption(int fd, int option) {
  int value = -1;
  socklen_t size = sizeof value;
  if (::getsockopt(fd, SOL_SOCKET, option, &value, &size) != 0) return -1;
  return value;
}

// OK if a ring wakes a thread that watches the doorbell.
Status checkWakes(const Doorbell& doorbell) {
  const UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  if (!epoll.valid() || ::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, doorbell.watched(), &event) != 0) {
    return errnoStatus(ResultCode::RESOURCE_EXHAUSTED_TRANSIENT, errno, "epoll for a ring");
  }
  // The descriptor is ready from the start. This call consumes that event.
  (void)::epoll_wait(epoll.get(), &event, 1, 0);
  doorbell.ring();
  if (::epoll_wait(epoll.get(), &event, 1, 0) == 1) return okStatus();
  return opFailed("to shut down a socket again does not wake who watches its peer here");
}

}  // namespace

Result<Doorbell> Doorbell::makePair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return errnoStatus(ResultCode::RESOURCE_EXHAUSTED_TRANSIENT, errno, "socketpair for a ring");
  }
  Doorbell doorbell{UniqueFd(ends[0]), UniqueFd(ends[1])};
  for (const int end : ends) {
    if (::shutdown(end, SHUT_RDWR) != 0) {
      return errnoStatus(ResultCode::OP_FAILED, errno, "shutdown of a ring's doorbell");
    }
  }
  return doorbell;
}

Result<Doorbell> Doorbell::create() {
  HALYARD_ASSIGN_OR_RETURN(Doorbell doorbell, makePair());
  // No document guarantees the wake-up. Without it, a ring would wait forever.
  static std::atomic<bool> isKnownToWork = false;
  if (!isKnownToWork) {
    HALYARD_RETURN_IF_ERROR(checkWakes(doorbell));
    isKnownToWork = true;
  }
  return doorbell;
}

void Doorbell::ring() const { (void)::shutdown(own_.get(), SHUT_RDWR); }

Status checkLocalSocket(int fd, int type) {
  const int domain = socketOption(fd, SO_DOMAIN);
  if (domain < 0) return badData("it is no socket");
  const int found = socketOption(fd, SO_TYPE);
  if (domain != AF_UNIX || found != type) {
    return badData("it is a socket of domain {} and type {}, expected {} and {}", domain, found,
                   AF_UNIX, type);
  }
  return okStatus();
}

}  // namespace halyard::hal
