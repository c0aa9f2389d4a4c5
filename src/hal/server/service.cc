#include "hal/server/service.h"

#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/environment.h"

namespace halyard::hal {
namespace {

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

// After this time without a new client, the memory of former clients returns to the system.
constexpr std::chrono::duration<int, std::milli> kQuietTime{1000};

// The most refused clients that get the reason at the same time. Others are disconnected without an
// answer.
constexpr unsigned kMaxRefusals = 16;

// systemd's protocol: descriptor 3, if the environment variables are for this process.
Result<std::optional<UniqueFd>> activatedSocket() {
  const char* const pid = environmentVariable("LISTEN_PID");
  const char* const count = environmentVariable("LISTEN_FDS");
  if (pid == nullptr || count == nullptr || std::to_string(::getpid()) != pid) {
    return std::optional<UniqueFd>();
  }
  if (std::string_view(count) != "1") {
    return badData("LISTEN_FDS is {}, expected one socket", count);
  }
  UniqueFd fd(3);
  ::fcntl(fd.get(), F_SETFD, FD_CLOEXEC);
  int listening = 0;
  sockaddr_un address{};
  socklen_t length = sizeof listening;
  socklen_t addressLength = sizeof address;
  if (::getsockopt(fd.get(), SOL_SOCKET, SO_ACCEPTCONN, &listening, &length) != 0 ||
      listening == 0 ||
      ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &addressLength) != 0 ||
      address.sun_family != AF_UNIX) {
    return badData("the descriptor handed over is no listening Unix socket");
  }
  return std::optional<UniqueFd>(std::move(fd));
}

}  // namespace

Result<Peer> peerOf(int socket) {
  Peer peer;
  socklen_t length = sizeof peer.credentials;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer.credentials, &length) != 0) {
    return errnoStatus(ResultCode::OP_FAILED, errno, "SO_PEERCRED");
  }
  int pidfd = -1;
  length = sizeof pidfd;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &length) == 0) {
    peer.process.reset(pidfd);
    ::fcntl(pidfd, F_SETFD, FD_CLOEXEC);
  }
  return peer;
}

Result<UniqueFd> listenForClients(const std::string& path, bool& made) {
  made = false;
  HALYARD_ASSIGN_OR_RETURN(std::optional<UniqueFd> activated, activatedSocket());
  if (activated) return std::move(*activated);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return badData("{}: a socket's path has at most {} bytes", path, sizeof address.sun_path - 1);
  }
  path.copy(address.sun_path, path.size());
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return errnoStatus(ResultCode::OP_FAILED, errno, "socket");
  const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
  struct stat st {};
  if (::lstat(path.c_str(), &st) == 0 && S_ISSOCK(st.st_mode)) {
    const UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (::connect(probe.get(), generic, sizeof address) != 0 && errno == ECONNREFUSED) {
      ::unlink(path.c_str());
    }
  }
  if (::bind(fd.get(), generic, sizeof address) != 0 || ::listen(fd.get(), SOMAXCONN) != 0) {
    return errnoStatus(ResultCode::OP_FAILED, errno, fmt::format("listening at {}", path));
  }
  made = true;
  return fd;
}

struct Service::User {
  std::shared_ptr<Quota> quota;
  unsigned connections = 0;
};

struct Service::Shared {
  explicit Shared(ServiceSettings theSettings) : settings(std::move(theSettings)) {}

  const ServiceSettings settings;
  std::mutex mutex;
  std::map<uid_t, User> users;  // the users with clients
  unsigned clients = 0;
  unsigned refusals = 0;
  std::atomic<bool> memoryToReturn = false;  // clients have gone since the last return

  // Needs the mutex. OK, or the reason for refusing the client.
  Status check(const ucred& who) const {
    if (!settings.allows(who.uid, who.gid)) {
      return makeStatus(ResultCode::UNAVAILABLE_DEVICE,
                        "the service does not serve user {} (group {})", who.uid, who.gid);
    }
    const auto user = users.find(who.uid);
    if (user != users.end() && user->second.connections >= settings.connectionsOfUser) {
      return makeStatus(ResultCode::RESOURCE_EXHAUSTED_TRANSIENT,
                        "user {} has {} connections to the service already, which is the most",
                        who.uid, user->second.connections);
    }
    if (clients >= settings.connections) {
      return makeStatus(ResultCode::RESOURCE_EXHAUSTED_TRANSIENT,
                        "the service has {} clients already, which is the most", clients);
    }
    return okStatus();
  }
  // Needs the mutex. Counts a new client of the user and returns the client's quota.
  std::shared_ptr<Quota> enter(uid_t id) {
    ++clients;
    User& user = users[id];
    if (user.quota == nullptr)
      user.quota = Quota::create(settings.user, fmt::format("user {}", id));
    ++user.connections;
    return Quota::create(settings.client, "the client", user.quota);
  }
  void leave(uid_t id) {
    const std::lock_guard lock(mutex);
    --clients;
    memoryToReturn = true;
    --users[id].connections;
    // Running work of a client that has gone stays charged to its user.
    std::erase_if(users, [](const auto& entry) {
      return entry.second.connections == 0 && entry.second.quota.use_count() == 1;
    });
  }
};

Service::Service(Server& server, ServiceSettings settings)
    : server_(server), shared_(std::make_shared<Shared>(std::move(settings))) {}

Service::~Service() = default;

size_t Service::clients() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->clients;
}

void Service::admit(UniqueFd socket) {
  Result<Peer> peer = peerOf(socket.get());
  if (!peer.ok()) return;
  const uid_t uid = peer->credentials.uid;
  ClientTerms terms;
  terms.process = std::move(peer->process);
  terms.uid = uid;
  terms.queuedCalls = shared_->settings.queuedCalls;
  {
    const std::lock_guard lock(shared_->mutex);
    terms.refusal = shared_->check(peer->credentials);
    if (terms.refusal.ok()) {
      terms.quota = shared_->enter(uid);
    } else if (++shared_->refusals > kMaxRefusals) {
      --shared_->refusals;
      return;
    }
  }
  const bool refused = !terms.refusal.ok();
  server_.serve(
      std::move(socket),
      [shared = shared_, uid, refused] {
        if (!refused) return shared->leave(uid);
        const std::lock_guard lock(shared->mutex);
        --shared->refusals;
      },
      std::move(terms));
}

Status Service::run(const UniqueFd& listener, int signals) {
  ::fcntl(listener.get(), F_SETFL, ::fcntl(listener.get(), F_GETFL) | O_NONBLOCK);
  for (;;) {
    pollfd polls[] = {{listener.get(), POLLIN, 0}, {signals, POLLIN, 0}};
    const int ready = ::poll(polls, 2, kQuietTime.count());
    if (ready < 0 && errno != EINTR) return errnoStatus(ResultCode::OP_FAILED, errno, "poll");
    if (ready == 0 && shared_->memoryToReturn.exchange(false)) ::malloc_trim(0);
    if ((polls[1].revents & POLLIN) != 0) return okStatus();
    if (polls[0].revents == 0) continue;
    UniqueFd client(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (client.valid()) {
      admit(std::move(client));
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      ::poll(nullptr, 0, 100);  // a pause, because poll would return at once for the waiting client
    }
  }
}

}  // namespace halyard::hal
