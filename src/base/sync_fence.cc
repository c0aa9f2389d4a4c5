// Sync fences on top of poll(), and on socket pairs.
#include "halyard/driver/sync_fence.h"

#include <fcntl.h>
#include <linux/sync_file.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/process_generation.h"
#include "base/thread_sanitizer.h"

namespace halyard {
namespace {

// Bytes that a fence's socket pair transports.
constexpr char kUnread = 'u';
constexpr char kSignal = 's';

// Refuses files, because their poll() always answers "ready". Does not ask a file system of a
// possibly hostile peer (FUSE), because that could block the caller.
Status checkPollable(int fd) {
  struct statx info {};
  if (::statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &info) != 0) {
    return errnoStatus(ResultCode::BAD_DATA, errno, fmt::format("descriptor {} of a fence", fd));
  }
  const unsigned type = info.stx_mode & S_IFMT;
  if (type == S_IFREG || type == S_IFDIR || type == S_IFBLK || type == S_IFLNK) {
    return badData(
        "descriptor {} is of a file, expected a fence: sync_file, eventfd, pipe or socket", fd);
  }
  return okStatus();
}

// For descriptors that are readable and writable at once. It may be an eventfd or similar. It may
// also have no poll function: the kernel then reports it as always ready, and epoll refuses it.
Result<bool> epollTakes(int fd) {
  const UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.valid()) {
    return errnoStatus(ResultCode::RESOURCE_EXHAUSTED_TRANSIENT, errno, "epoll for a fence");
  }
  epoll_event event{};
  event.events = EPOLLIN;
  return ::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &event) == 0 || errno != EPERM;
}

// Returns the status of a sync_file: below 0 an error, 0 active, 1 signalled. nullopt for anything
// else.
std::optional<int> syncFileStatus(int fd) {
  sync_file_info info{};
  if (::ioctl(fd, SYNC_IOC_FILE_INFO, &info) != 0) return std::nullopt;
  return info.status;
}

// `fd` is readable.
Result<FenceState> stateOfReadable(int fd, unsigned events) {
  if (const std::optional<int> status = syncFileStatus(fd)) {
    if (*status == 0) return FenceState::PENDING;
    return *status > 0 ? FenceState::SIGNALLED : FenceState::ERROR;
  }
  if ((events & (POLLHUP | POLLRDHUP)) != 0) {
    // An end of file is no signal. A socket at its end is readable, though, an instant before the
    // error that comes with it. This check takes no bytes out of the socket.
    int bytes = 0;
    if (::ioctl(fd, FIONREAD, &bytes) == 0 && bytes == 0) return FenceState::ERROR;
    return FenceState::SIGNALLED;
  }
  if ((events & POLLOUT) != 0) {
    HALYARD_ASSIGN_OR_RETURN(const bool isPollable, epollTakes(fd));
    if (!isPollable) return badData("descriptor {} cannot be polled, expected a fence", fd);
  }
  return FenceState::SIGNALLED;
}

// `timeout` as in ppoll; null means no limit.
Result<FenceState> pollOnce(int fd, const timespec* timeout) {
  // Only a caller that does not wait asks for POLLOUT: most descriptors have it at once.
  const bool waits = timeout == nullptr || timeout->tv_sec != 0 || timeout->tv_nsec != 0;
  const int asked = POLLIN | POLLRDHUP | (waits ? 0 : POLLOUT);
  pollfd polled{fd, static_cast<short>(asked), 0};
  const int ready = ::ppoll(&polled, 1, timeout, nullptr);
  if (ready < 0) {
    if (errno == EINTR) return FenceState::PENDING;
    return errnoStatus(ResultCode::OP_FAILED, errno, "poll of a fence");
  }
  const auto events = static_cast<unsigned>(polled.revents);
  if ((events & POLLNVAL) != 0) return badData("descriptor {} of a fence is not open", fd);
  // A thread that sees a signalled or failed fence also sees all work before it.
  if (events != 0) sanitizerAcquire(sanitizerFences());
  if ((events & POLLERR) != 0) return FenceState::ERROR;
  if ((events & POLLIN) != 0) return stateOfReadable(fd, events);
  if ((events & POLLHUP) != 0) return FenceState::ERROR;
  return FenceState::PENDING;
}

}  // namespace

Result<FenceState> fenceState(int fd) {
  if (fd < 0) return badData("descriptor {} of a fence", fd);
  HALYARD_RETURN_IF_ERROR(checkPollable(fd));
  constexpr timespec kNoWait{};
  return pollOnce(fd, &kNoWait);
}

Result<FenceState> waitFence(int fd,
                             std::optional<std::chrono::steady_clock::time_point> deadline) {
  using std::chrono::nanoseconds;
  for (;;) {
    HALYARD_ASSIGN_OR_RETURN(const FenceState now, fenceState(fd));
    if (now != FenceState::PENDING) return now;
    if (!deadline) {
      HALYARD_RETURN_IF_ERROR(pollOnce(fd, nullptr).status());
      continue;
    }
    const auto left =
        std::chrono::duration_cast<nanoseconds>(*deadline - std::chrono::steady_clock::now());
    if (left <= nanoseconds::zero()) return FenceState::PENDING;
    const timespec timeout{left.count() / 1'000'000'000, left.count() % 1'000'000'000};
    HALYARD_RETURN_IF_ERROR(pollOnce(fd, &timeout).status());
  }
}

void FenceSignaller::fail() {
  if (!pending()) return;
  sanitizerRelease(sanitizerFences());
  // In a child of a fork the end stays open, so the kernel does not report its end. After
  // shutdown(), a poll() sees a hang-up instead of an error; without it, the error comes alone.
  if (mayHaveChildren()) ::shutdown(end_.get(), SHUT_RDWR);
  end_.reset();
}

void FenceSignaller::signal() {
  if (!pending()) return;
  sanitizerRelease(sanitizerFences());
  // The order matters: if the process dies in between, the fence has an error and no false signal.
  (void)::send(end_.get(), &kSignal, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  char unread = 0;
  (void)::recv(end_.get(), &unread, 1, MSG_DONTWAIT);
  end_.reset();
}

Result<NewFence> createFence() {
  [[maybe_unused]] const ProcessStamp stamp;  // from now on the process notices forks
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return errnoStatus(ResultCode::RESOURCE_EXHAUSTED_TRANSIENT, errno, "socketpair for a fence");
  }
  NewFence made{UniqueFd(ends[0]), FenceSignaller(UniqueFd(ends[1]))};
  if (::send(ends[0], &kUnread, 1, MSG_NOSIGNAL) != 1 || ::shutdown(ends[0], SHUT_WR) != 0) {
    return errnoStatus(ResultCode::RESOURCE_EXHAUSTED_TRANSIENT, errno, "setting up a fence");
  }
  return made;
}

}  // namespace halyard
