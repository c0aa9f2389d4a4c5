#include "serve/http/socket_stream.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace halyard::serve {
namespace {

constexpr size_t kBufferBytes = size_t{16} << 10;
constexpr size_t kMostPending = size_t{64} << 10;

using Clock = std::chrono::steady_clock;

// Whether the socket is ready for `events` before `end`.
bool waitFor(int socket, short events, Clock::time_point end) {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() <= 0) return false;
    pollfd waiting = {socket, events, 0};
    const int ready =
        ::poll(&waiting, 1, static_cast<int>(std::min<int64_t>(left.count(), INT32_MAX)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

void addressOf(int (*get)(int, sockaddr*, socklen_t*), int socket, std::string& ip, int& port) {
  sockaddr_storage address = {};
  socklen_t length = sizeof(address);
  if (get(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0) return;
  char text[INET6_ADDRSTRLEN] = {};
  if (address.ss_family == AF_INET) {
    const auto* const v4 = reinterpret_cast<const sockaddr_in*>(&address);
    ::inet_ntop(AF_INET, &v4->sin_addr, text, sizeof(text));
    port = ntohs(v4->sin_port);
  } else if (address.ss_family == AF_INET6) {
    const auto* const v6 = reinterpret_cast<const sockaddr_in6*>(&address);
    ::inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof(text));
    port = ntohs(v6->sin6_port);
  }
  ip = text;
}

}  // namespace

int callTls(SSL* tls, Clock::time_point end, const std::function<int()>& call) {
  while (true) {
    ERR_clear_error();
    const int result = call();
    if (result > 0) return result;
    const int error = SSL_get_error(tls, result);
    if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) return result;
    const short events = error == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT;
    if (!waitFor(SSL_get_fd(tls), events, end)) return -1;
  }
}

std::string addressOfPeer(int socket) {
  std::string ip;
  int port = 0;
  addressOf(::getpeername, socket, ip, port);
  return ip;
}

SocketStream::SocketStream(int socket, SSL* tls, RequestLimits limits)
    : socket_(socket),
      tls_(tls),
      limits_(limits),
      buffer_(kBufferBytes),
      header_(limits.headerBytes) {
  beginRequest();
}

void SocketStream::beginRequest() {
  readBy_ = std::chrono::steady_clock::now() + limits_.readTime;
  header_ = HeaderCheck(limits_.headerBytes);
  bodyBytes_ = 0;
  lineBytes_ = 0;
}

bool SocketStream::isOutOfStep() const { return failed_ || header_.bodyLength() != bodyBytes_; }

bool SocketStream::is_readable() const {
  if (hasBuffered()) return true;
  pollfd waiting = {socket_, POLLIN, 0};
  return ::poll(&waiting, 1, 0) > 0;
}

bool SocketStream::isClosedByClient() const {
  pollfd waiting = {socket_, POLLRDHUP, 0};
  return ::poll(&waiting, 1, 0) > 0;
}

// Checks and counts bytes that the library reads.
bool SocketStream::isBeyondLimits(const char* bytes, size_t size) {
  if (std::chrono::steady_clock::now() > readBy_) return true;
  size_t at = 0;
  for (; at < size && !header_.hasEnded(); ++at) {
    if (!header_.take(bytes[at])) return true;
  }
  bodyBytes_ += size - at;
  return at == 0 && isLineTooLong(bytes, size);
}

// The library reads the lines between chunks byte by byte, and keeps them in memory.
bool SocketStream::isLineTooLong(const char* bytes, size_t size) {
  lineBytes_ = size == 1 && bytes[0] != '\n' ? lineBytes_ + 1 : 0;
  return lineBytes_ > limits_.headerBytes;
}

ssize_t SocketStream::receive(char* to, size_t size) {
  if (tls_ != nullptr) {
    const int most = static_cast<int>(std::min<size_t>(size, INT32_MAX));
    return callTls(tls_, readBy_, [&] { return SSL_read(tls_, to, most); });
  }
  while (true) {
    const ssize_t got = ::recv(socket_, to, size, MSG_DONTWAIT);
    if (got >= 0 || (errno != EINTR && errno != EAGAIN)) return got;
    if (!waitFor(socket_, POLLIN, readBy_)) return -1;
  }
}

ssize_t SocketStream::read(char* to, size_t size) {
  if (failed_) return -1;
  if (!pending_.empty() && !flush()) return -1;  // the peer may wait for it
  ssize_t got = 0;
  if (begin_ == end_ && size >= buffer_.size()) {
    got = receive(to, size);
  } else {
    if (begin_ == end_) {
      got = receive(buffer_.data(), buffer_.size());
      begin_ = 0;
      end_ = got > 0 ? static_cast<size_t>(got) : 0;
    }
    if (end_ != begin_) {
      const size_t taken = std::min(size, end_ - begin_);
      std::memcpy(to, buffer_.data() + begin_, taken);
      begin_ += taken;
      got = static_cast<ssize_t>(taken);
    }
  }
  if (got > 0 && !isBeyondLimits(to, static_cast<size_t>(got))) return got;
  failed_ = true;
  return got > 0 ? -1 : got;
}

bool SocketStream::send(const char* from, size_t size) {
  while (size > 0) {
    ssize_t sent = 0;
    if (tls_ != nullptr) {
      const int most = static_cast<int>(std::min<size_t>(size, INT32_MAX));
      sent = callTls(tls_, Clock::now() + limits_.readTime,
                     [&] { return SSL_write(tls_, from, most); });
    } else {
      sent = ::send(socket_, from, size, MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
    }
    if (sent <= 0) {
      failed_ = true;
      return false;
    }
    from += sent;
    size -= static_cast<size_t>(sent);
  }
  return true;
}

bool SocketStream::flush() {
  const std::string pending = std::move(pending_);
  pending_.clear();
  return send(pending.data(), pending.size());
}

ssize_t SocketStream::write(const char* from, size_t size) {
  if (pending_.size() + size <= kMostPending) {
    pending_.append(from, size);
  } else if (!flush() || !send(from, size)) {
    return -1;
  }
  return static_cast<ssize_t>(size);
}

void SocketStream::get_remote_ip_and_port(std::string& ip, int& port) const {
  addressOf(::getpeername, socket_, ip, port);
}

void SocketStream::get_local_ip_and_port(std::string& ip, int& port) const {
  addressOf(::getsockname, socket_, ip, port);
}

}  // namespace halyard::serve
