#include "hal/wire/received_fds.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "base/process_generation.h"

namespace halyard::hal {
namespace {

#ifndef SO_COOKIE
#define SO_COOKIE 57
#endif

// Returns the kernel's unique number of a socket; nullopt for other descriptors.
std::optional<uint64_t> cookieOf(int fd) {
  uint64_t cookie = 0;
  socklen_t length = sizeof cookie;
  if (::getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &length) != 0) return std::nullopt;
  return cookie;
}

// The descriptors that the stand-ins of this process represent.
struct StandIns {
  std::mutex mutex;
  std::unordered_map<uint64_t, int> fds;

  static StandIns& ofProcess() {
    static constinit PerProcess<StandIns> all;
    return all.get();
  }
};

// The stand-in for all refused descriptors.
int refusedFd() {
  static constinit PerProcess<UniqueFd> end;
  const UniqueFd& made = end.get([] {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
      return std::make_unique<UniqueFd>();
    }
    ::close(ends[1]);
    return std::make_unique<UniqueFd>(ends[0]);
  });
  return made.get();
}

}  // namespace

ReceivedFds::~ReceivedFds() noexcept(false) {
  while (!kept_.empty()) drop(kept_.begin()->first);
}

kj::AutoCloseFd ReceivedFds::give(ForeignFd fd, Quota* quota) {
  if (isKernelMemory(fd.get())) return kj::AutoCloseFd(fd.release());
  Quota::Charge charge;
  if (quota != nullptr) {
    auto charged = quota->charge(Quota::Resource::DESCRIPTORS, 1);
    if (!charged.ok()) return giveRefused();
    charge = std::move(*charged);
  }
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
    return giveRefused();
  }
  kj::AutoCloseFd standIn(ends[0]);
  UniqueFd otherEnd(ends[1]);
  const std::optional<uint64_t> cookie = cookieOf(standIn.get());
  if (!cookie) return giveRefused();
  auto closed = kj::heap<kj::UnixEventPort::FdObserver>(
      port_, otherEnd.get(), kj::UnixEventPort::FdObserver::OBSERVE_READ);
  tasks_.add(closed->whenBecomesReadable().then([this, id = *cookie] { drop(id); }));
  {
    StandIns& all = StandIns::ofProcess();
    const std::lock_guard lock(all.mutex);
    all.fds.emplace(*cookie, fd.get());
  }
  kept_.emplace(*cookie,
                Kept{std::move(charge), std::move(fd), std::move(otherEnd), kj::mv(closed)});
  return standIn;
}

kj::AutoCloseFd ReceivedFds::giveRefused() {
  const int copy = ::fcntl(refusedFd(), F_DUPFD_CLOEXEC, 0);
  return copy < 0 ? kj::AutoCloseFd() : kj::AutoCloseFd(copy);
}

void ReceivedFds::drop(uint64_t standIn) {
  {
    StandIns& all = StandIns::ofProcess();
    const std::lock_guard lock(all.mutex);
    all.fds.erase(standIn);
  }
  kept_.erase(standIn);
}

ForeignFd originalOf(int fd) {
  const std::optional<uint64_t> cookie = cookieOf(fd);
  if (!cookie) return {};
  StandIns& all = StandIns::ofProcess();
  const std::lock_guard lock(all.mutex);
  const auto known = all.fds.find(*cookie);
  return known == all.fds.end() ? ForeignFd() : ForeignFd::duplicateOf(known->second);
}

Result<ForeignFd> takeReceived(int fd) {
  const auto duplicate = [](int from) -> Result<ForeignFd> {
    ForeignFd copy = ForeignFd::duplicateOf(from);
    if (copy.valid()) return copy;
    return errnoStatus(ResultCode::RESOURCE_EXHAUSTED_TRANSIENT, errno,
                       "duplicating a descriptor that has come with a message");
  };
  const std::optional<uint64_t> cookie = cookieOf(fd);
  if (!cookie) return duplicate(fd);
  if (cookie == cookieOf(refusedFd())) {
    return makeStatus(ResultCode::RESOURCE_EXHAUSTED_TRANSIENT,
                      "more descriptors of files have come with the message than its sender may "
                      "have here");
  }
  StandIns& all = StandIns::ofProcess();
  const std::lock_guard lock(all.mutex);
  const auto known = all.fds.find(*cookie);
  return duplicate(known == all.fds.end() ? fd : known->second);
}

}  // namespace halyard::hal
