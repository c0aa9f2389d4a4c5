// Service: a driver's process that serves many clients, which do not trust each other.
// Thread safety: run is for the main thread. The other functions may be called from any thread.
// Ownership: borrows the server, which must be drained before the service ends.
#pragma once

#include <sys/socket.h>

#include <map>
#include <memory>
#include <mutex>

#include "hal/manifest/service_settings.h"
#include "hal/server/server.h"

namespace halyard::hal {

// The other end of a connected Unix socket, from the kernel. This is the process that connected the
// socket. Other processes may hold it, too.
struct Peer {
  ucred credentials{};
  UniqueFd process;  // its pidfd; invalid before Linux 6.5
};
Result<Peer> peerOf(int socket);

// Returns the socket of systemd's socket activation, or listens at `path`. Replaces a socket file
// without a listening process, but not the socket of a running service. `path` may be empty with
// socket activation. `made`: whether there is a new socket file, which the caller must remove at
// the end.
Result<UniqueFd> listenForClients(const std::string& path, bool& made);

class Service {
 public:
  Service(Server& server, ServiceSettings settings);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // Accepts clients from `listener` until `signals`, a signalfd, is readable. OP_FAILED when poll
  // fails.
  Status run(const UniqueFd& listener, int signals);
  size_t clients() const;

 private:
  struct User;
  struct Shared;

  void admit(UniqueFd client);

  Server& server_;
  const std::shared_ptr<Shared> shared_;  // the loop thread updates it when clients go
};

}  // namespace halyard::hal
