// GrpcServer: the protocol over gRPC.
// Thread safety: start once; stop from one thread.
// Ownership: owns its threads. The service and the clients outlive it.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "halyard/driver/status.h"
#include "serve/access/clients.h"
#include "serve/service/service.h"

namespace halyard::serve {

struct GrpcOptions {
  std::string host = "127.0.0.1";
  int port = 8001;                            // 0: any
  size_t maxMessageBytes = size_t{64} << 20;  // of one request
  size_t maxBytesInFlight = size_t{1} << 30;  // that gRPC has received, and of parsed requests
  size_t maxStreams = 256;                    // each has two threads
  std::string certificate;                    // PEM, a file; empty: no TLS
  std::string key;
  std::chrono::milliseconds sendTime{60'000};   // for an answer; large ones get more
  std::chrono::milliseconds idleTime{300'000};  // of a connection without calls
};

class GrpcServer {
 public:
  GrpcServer(Service& service, Clients& clients, GrpcOptions options);
  // Ends the server as stop() does.
  ~GrpcServer();

  // Listens from now on. OP_FAILED if the port or the files of TLS cannot be used.
  Status start();
  int port() const;
  // Accepts no further requests, and waits until all others are answered.
  void stop();

 private:
  class Implementation;
  const std::unique_ptr<Implementation> implementation_;
};

}  // namespace halyard::serve
