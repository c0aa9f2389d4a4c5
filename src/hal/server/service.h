// Service: a driver's process that serves many clients, who do not trust each other.
// Thread safety: run is for the main thread; the rest for any.
// Ownership: borrows the server, which must be drained before the service goes.
#pragma once

#include <sys/socket.h>

#include <map>
#include <memory>
#include <mutex>

#include "hal/manifest/service_settings.h"
#include "hal/server/server.h"

namespace halyard::hal {

// Who is at the other end of a connected Unix socket, as the kernel knows it: who has made the
// socket, not who else may have it.
struct Peer {
  ucred credentials{};
  UniqueFd process;  // its pidfd; invalid where the kernel does not give one (before Linux 6.5)
};
Result<Peer> peerOf(int socket);

// Listens as systemd's socket activation has it, or at `path`. A socket that a predecessor has left
// there is replaced, a living one is not. `path` may be empty when the socket is handed over; says
// in `made` whether there is a file to be removed in the end.
Result<UniqueFd> listenForClients(const std::string& path, bool& made);

class Service {
 public:
  Service(Server& server, ServiceSettings settings);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // Takes clients from `listener` until `signals`, a signalfd, is readable. OP_FAILED when it
  // cannot go on.
  Status run(const UniqueFd& listener, int signals);
  size_t clients() const;

 private:
  struct User;
  struct Shared;

  void admit(UniqueFd client);

  Server& server_;
  const std::shared_ptr<Shared> shared_;  // the loop thread says there when clients go
};

}  // namespace halyard::hal
