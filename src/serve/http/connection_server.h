// ConnectionServer: the HTTP library's server over SocketStream, with a limit on connections.
// Thread safety: stop and drain from any thread; the other functions as in the library.
// Ownership: owns its threads and its TLS context.
#pragma once

#include <httplib.h>
#include <openssl/ssl.h>

#include <atomic>
#include <memory>
#include <string>

#include "halyard/driver/status.h"
#include "halyard/driver/unique_fd.h"
#include "serve/http/connections.h"
#include "serve/http/socket_stream.h"

namespace halyard::serve {

struct ConnectionLimits {
  size_t connections = 256;  // each has a thread
  std::chrono::seconds idleTime{60};
  // How long a client may take for the rest of its request or answer when the server ends.
  std::chrono::milliseconds endTime{10'000};
  RequestLimits request;
};

struct TlsFiles {
  std::string certificate;  // PEM; empty: no TLS
  std::string key;
};

class ConnectionServer : public httplib::Server {
 public:
  explicit ConnectionServer(ConnectionLimits limits);
  ~ConnectionServer() override;

  // BAD_DATA for files that cannot be used.
  Status useTls(const TlsFiles& files);

  // The connection whose request this thread answers; null in other threads.
  static const SocketStream* presentConnection();

  // While it lives, the server works on the request of this thread's connection, which is not
  // closed for another one then. Otherwise the connection waits for its client.
  class Work {
   public:
    Work();
    ~Work();
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;
  };

  // Ends idle connections now, and all others after their request. New ones are not accepted after
  // stop(). From then on, clients have the end time to take their answers.
  void drain();

 private:
  class Threads;

  bool process_and_close_socket(socket_t socket) override;
  void serveAndLinger(socket_t socket);
  void serve(socket_t socket);
  void serveRequests(SocketStream& stream);
  void serveEach(SocketStream& stream);
  void markLastAnswer(httplib::Response& response) const;
  bool waitForRequest(const SocketStream& stream) const;

  const ConnectionLimits limits_;
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> tls_{nullptr, &SSL_CTX_free};
  Connections connections_;
  UniqueFd drainEvent_;  // readable from drain() on
  std::atomic<bool> draining_ = false;
};

}  // namespace halyard::serve
