// ConnectionAcceptor: accepts the connections of gRPC. gRPC's own listener ends forever
// when the process has no descriptor left, so it is not used.
// Thread safety: one thread. Ownership: owns its socket and its thread.
//
// A descriptor has the lowest free number. So the number of a new connection tells how many
// descriptors the process has. Connections beyond a part of the limit are closed at once.
#pragma once

#include <grpcpp/server_builder.h>

#include <memory>
#include <string>
#include <thread>

#include "halyard/driver/status.h"
#include "halyard/driver/unique_fd.h"

namespace halyard::serve {

class ConnectionAcceptor {
 public:
  using Receiver = grpc::experimental::ExternalConnectionAcceptor;

  ~ConnectionAcceptor() { stop(); }

  // Takes the port; 0 is any. OP_FAILED names the address and the reason.
  Status listen(const std::string& host, int port);
  int port() const { return port_; }
  // Accepts from now on, for a server that has started.
  void start(std::unique_ptr<Receiver> receiver);
  void stop();

 private:
  void work();
  void acceptOne();

  UniqueFd listener_;
  UniqueFd end_;  // readable from stop() on
  int port_ = 0;
  int firstRefused_ = 0;  // the number of a descriptor
  bool hasWarned_ = false;
  std::unique_ptr<Receiver> receiver_;
  std::thread thread_;
};

}  // namespace halyard::serve
