#include "serve/grpc/connection_acceptor.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>

#include "base/log.h"

namespace halyard::serve {
namespace {

// How long a listener without a descriptor for the next connection waits.
constexpr std::chrono::milliseconds kPause{50};

std::string errorText(int error) { return std::generic_category().message(error); }

void enable(int socket, int level, int option) {
  const int yes = 1;
  (void)::setsockopt(socket, level, option, &yes, sizeof(yes));
}

// A socket that listens at the address; -1 with errno after a failure.
UniqueFd listenerAt(const addrinfo& address) {
  UniqueFd listener(
      ::socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (listener.get() < 0) return listener;
  enable(listener.get(), SOL_SOCKET, SO_REUSEADDR);
  enable(listener.get(), IPPROTO_TCP, TCP_NODELAY);  // connections inherit it
  if (::bind(listener.get(), address.ai_addr, address.ai_addrlen) != 0 ||
      ::listen(listener.get(), SOMAXCONN) != 0) {
    return {};
  }
  return listener;
}

int portOf(int socket) {
  sockaddr_storage address = {};
  socklen_t length = sizeof(address);
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0) return 0;
  const bool isIpv6 = address.ss_family == AF_INET6;
  return ntohs(isIpv6 ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                      : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

// A quarter of the descriptors is left for models, drivers, HTTP and gRPC itself.
int firstRefusedDescriptor() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return INT32_MAX;
  return static_cast<int>(std::min<rlim_t>(limit.rlim_cur, INT32_MAX) / 4 * 3);
}

}  // namespace

Status ConnectionAcceptor::listen(const std::string& host, int port) {
  addrinfo hints = {};
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int unknown = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (unknown != 0) {
    return makeStatus(ResultCode::OP_FAILED, "gRPC cannot listen at {}:{}: {}", host, port,
                      ::gai_strerror(unknown));
  }
  int error = 0;
  for (const addrinfo* each = list; each != nullptr && listener_.get() < 0; each = each->ai_next) {
    listener_ = listenerAt(*each);
    if (listener_.get() < 0) error = errno;
  }
  ::freeaddrinfo(list);
  if (listener_.get() < 0) {
    return makeStatus(ResultCode::OP_FAILED, "gRPC cannot listen at {}:{}: {}", host, port,
                      errorText(error));
  }
  port_ = portOf(listener_.get());
  // Without it, stop() would wait forever.
  end_ = UniqueFd(::eventfd(0, EFD_CLOEXEC));
  if (end_.valid()) return okStatus();
  return errnoStatus(ResultCode::OP_FAILED, errno, "an eventfd for gRPC's listener");
}

void ConnectionAcceptor::start(std::unique_ptr<Receiver> receiver) {
  receiver_ = std::move(receiver);
  firstRefused_ = firstRefusedDescriptor();
  thread_ = std::thread([this] { work(); });
}

void ConnectionAcceptor::stop() {
  if (!thread_.joinable()) return;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(end_.get(), &one, sizeof(one));
  thread_.join();
  listener_.reset();
}

void ConnectionAcceptor::work() {
  pollfd waiting[] = {{listener_.get(), POLLIN, 0}, {end_.get(), POLLIN, 0}};
  while (waiting[1].revents == 0) {
    if (::poll(waiting, 2, -1) > 0 && waiting[0].revents != 0) acceptOne();
  }
}

void ConnectionAcceptor::acceptOne() {
  UniqueFd connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  const bool isFull = connection.get() >= firstRefused_;
  if (connection.get() >= 0 && !isFull) {
    Receiver::NewConnectionParameters parameters;
    parameters.listener_fd = listener_.get();
    parameters.fd = connection.release();
    receiver_->HandleNewConnection(&parameters);
    return;
  }
  const bool isExhausted = connection.get() < 0 && (errno == EMFILE || errno == ENFILE ||
                                                    errno == ENOBUFS || errno == ENOMEM);
  if (!isFull && !isExhausted) return;  // the client has gone
  if (!hasWarned_) {
    logWarning("gRPC refuses connections, since too many descriptors are open (ulimit -n)");
  }
  hasWarned_ = true;
  if (isExhausted) std::this_thread::sleep_for(kPause);
}

}  // namespace halyard::serve
