// Sync fences on top of poll(), and on socket pairs.
#include "halyard/driver/sync_fence.h"

#include <fcntl.h>
#include <linux/sync_file.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "base/process_generation.h"
#include "base/thread_sanitizer.h"

namespace halyard {
namespace {

// Bytes that a fence's socket pair transports.
constexpr char kUnread = 'u';
constexpr char kSignal = 's';

enum class FenceKind : uint8_t { SYNC_FILE, EVENT_FD, PIPE, UNIX_SOCKET };

// Returns the status of a sync_file: below 0 an error, 0 active, 1 signalled. nullopt for anything
// else.
std::optional<int> syncFileStatus(int fd) {
  sync_file_info info{};
  if (::ioctl(fd, SYNC_IOC_FILE_INFO, &info) != 0) return std::nullopt;
  return info.status;
}

bool isEventFd(int fd) {
  char target[32];
  const ssize_t size =
      ::readlink(fmt::format("/proc/self/fd/{}", fd).c_str(), target, sizeof target);
  return size > 0 && std::string_view(target, static_cast<size_t>(size)) == "anon_inode:[eventfd]";
}

bool isUnixSocket(int fd) {
  int domain = 0;
  socklen_t size = sizeof domain;
  return ::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX;
}

// Accepts those descriptors whose poll() never waits for a process. Does not ask a file system of a
// possibly hostile peer (FUSE), because that could block the caller.
Result<FenceKind> kindOf(int fd) {
  struct statx info {};
  if (::statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &info) != 0) {
    return errnoStatus(ResultCode::BAD_DATA, errno, fmt::format("descriptor {} of a fence", fd));
  }
  switch (info.stx_mode & S_IFMT) {
    case S_IFIFO:
      return FenceKind::PIPE;
    case S_IFSOCK:
      if (isUnixSocket(fd)) return FenceKind::UNIX_SOCKET;
      break;
    case 0:
      if (syncFileStatus(fd)) return FenceKind::SYNC_FILE;
      if (isEventFd(fd)) return FenceKind::EVENT_FD;
      break;
    default:
      break;
  }
  return badData(
      "descriptor {} is of another kind, expected a fence: sync_file, eventfd, pipe or Unix socket",
      fd);
}

FenceState stateOfReadable(int fd, FenceKind kind, unsigned events) {
  if (kind == FenceKind::SYNC_FILE) {
    const int status = syncFileStatus(fd).value_or(-1);
    if (status == 0) return FenceState::PENDING;
    return status > 0 ? FenceState::SIGNALLED : FenceState::ERROR;
  }
  if (kind == FenceKind::UNIX_SOCKET && (events & (POLLHUP | POLLRDHUP)) != 0) {
    // An end of file is no signal. A socket at its end is readable, though, an instant before the
    // error that comes with it. This check takes no bytes out of the socket. On a pipe it would
    // wait for other readers, and a pipe is readable only if it has bytes.
    int bytes = 0;
    if (::ioctl(fd, FIONREAD, &bytes) == 0 && bytes == 0) return FenceState::ERROR;
  }
  return FenceState::SIGNALLED;
}

// `timeout` as in ppoll; null means no limit.
Result<FenceState> pollOnce(int fd, FenceKind kind, const timespec* timeout) {
  pollfd polled{fd, POLLIN | POLLRDHUP, 0};
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
  if ((events & POLLIN) != 0) return stateOfReadable(fd, kind, events);
  if ((events & POLLHUP) != 0) return FenceState::ERROR;
  return FenceState::PENDING;
}

}  // namespace

Result<FenceState> fenceState(int fd) {
  if (fd < 0) return badData("descriptor {} of a fence", fd);
  HALYARD_ASSIGN_OR_RETURN(const FenceKind kind, kindOf(fd));
  constexpr timespec kNoWait{};
  return pollOnce(fd, kind, &kNoWait);
}

Result<FenceState> waitFence(int fd,
                             std::optional<std::chrono::steady_clock::time_point> deadline) {
  using std::chrono::nanoseconds;
  if (fd < 0) return badData("descriptor {} of a fence", fd);
  HALYARD_ASSIGN_OR_RETURN(const FenceKind kind, kindOf(fd));
  for (;;) {
    timespec timeout{};
    bool isLate = false;
    if (deadline) {
      const auto left = std::max(
          std::chrono::duration_cast<nanoseconds>(*deadline - std::chrono::steady_clock::now()),
          nanoseconds::zero());
      timeout = {left.count() / 1'000'000'000, left.count() % 1'000'000'000};
      isLate = left == nanoseconds::zero();
    }
    HALYARD_ASSIGN_OR_RETURN(const FenceState now,
                             pollOnce(fd, kind, deadline ? &timeout : nullptr));
    if (now != FenceState::PENDING || isLate) return now;
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
