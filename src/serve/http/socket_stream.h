// SocketStream: a connection of a client, plain or with TLS, with limits on its requests.
// Thread safety: one thread at a time.
// Ownership: borrows the socket and the TLS session.
//
// The HTTP library reads and writes through it. It buffers both directions, so that a response is
// one packet where it can be.
#pragma once

#include <httplib.h>
#include <openssl/ssl.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "serve/http/header_check.h"

namespace halyard::serve {

struct RequestLimits {
  size_t headerBytes = size_t{64} << 10;  // and of a line between the chunks of a body
  // For all bytes of one request, and for the handshake of TLS. A client that takes no bytes of an
  // answer has as long.
  std::chrono::milliseconds readTime{60'000};
};

// Repeats a call on a session whose socket does not block, until it has an end. Returns its result,
// or -1 if `end` comes first.
int callTls(SSL* tls, std::chrono::steady_clock::time_point end, const std::function<int()>& call);

// The address of the other end, without its port; empty if it is unknown.
std::string addressOfPeer(int socket);

class SocketStream : public httplib::Stream {
 public:
  // `tls` is null for a plain connection. With it, the socket must not block.
  SocketStream(int socket, SSL* tls, RequestLimits limits);

  // Begins the count of the limits.
  void beginRequest();
  // The fault of the request's form by which reads fail; empty without one.
  const std::string& fault() const { return header_.fault(); }
  // Whether the next bytes may be no request, since the last one was not read completely.
  bool isOutOfStep() const;
  bool hasBuffered() const { return begin_ != end_ || (tls_ != nullptr && SSL_pending(tls_) > 0); }
  bool flush();
  // Whether the client has closed the connection, or its direction of it. Any thread may ask.
  bool isClosedByClient() const;

  bool is_readable() const override;
  bool is_writable() const override { return !failed_; }
  ssize_t read(char* to, size_t size) override;
  ssize_t write(const char* from, size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  socket_t socket() const override { return socket_; }

 private:
  bool isBeyondLimits(const char* bytes, size_t size);
  bool isLineTooLong(const char* bytes, size_t size);
  ssize_t receive(char* to, size_t size);
  bool send(const char* from, size_t size);

  const int socket_;
  SSL* const tls_;
  const RequestLimits limits_;
  std::vector<char> buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
  std::string pending_;  // to be sent
  bool failed_ = false;

  std::chrono::steady_clock::time_point readBy_;
  HeaderCheck header_;
  uint64_t bodyBytes_ = 0;
  size_t lineBytes_ = 0;  // of the body, that came one by one since the last end of a line
};

}  // namespace halyard::serve
