// Server: any hal::Device, served to other processes over sockets with HAL 1.0 to 1.3.
// Thread safety: serve, clients and drain may be called from any thread but the loop's.
// Ownership: shares the device and the loop; owns its threads and its connections.
#pragma once

#include <unistd.h>

#include <chrono>
#include <functional>
#include <memory>

#include "hal/core/quota.h"
#include "hal/manifest/isolation_measure.h"
#include "hal/wire/rpc_loop.h"
#include "halyard/driver/device.h"
#include "halyard/driver/unique_fd.h"

namespace halyard::hal {

class ServerCore;

struct ServerOptions {
  IsolationReport isolation;  // told to clients
};

// The limits of one client.
struct ClientTerms {
  std::shared_ptr<Quota> quota;  // null: no limits
  size_t queuedCalls = 1024;     // that wait for a thread
  Status refusal;                // not OK: all that the client is told, before it is cut off
  UniqueFd process;              // its pidfd; the client goes with it. May be invalid
  uint32_t uid = static_cast<uint32_t>(::geteuid());  // its user, as the kernel knows it
};

// Models and requests are validated here in any case, so the device may trust them.
// Its methods run on threads of a FairExecutor, never on the loop's. A version's methods are
// served up to the device's halVersion. A feature that the device lacks, such as caches, answers
// GENERAL_FAILURE with a text.
class Server {
 public:
  static Result<std::unique_ptr<Server>> start(std::shared_ptr<RpcLoop> loop,
                                               std::shared_ptr<Device> device,
                                               ServerOptions options = {});
  // Closes all connections and waits for the calls that run.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Serves a connected Unix stream socket. `onDisconnect` is called on the loop thread once the
  // client has gone.
  void serve(UniqueFd socket, std::function<void()> onDisconnect, ClientTerms terms = {});
  // Takes no more calls, asks the running executions to end (ExecuteOptions::cancel) and waits for
  // the running calls. False when they have not ended in time, or when the loop does not work:
  // the process can only be ended then.
  bool drain(std::chrono::milliseconds limit);

 private:
  Server(std::shared_ptr<RpcLoop> loop, ServerCore* core) : loop_(std::move(loop)), core_(core) {}

  // Runs `work` on the loop thread and waits for it. False: it has not been done by then.
  bool onLoop(std::function<void()> work, TimePoint until = TimePoint::max());

  std::shared_ptr<RpcLoop> loop_;
  ServerCore* core_;  // lives on the loop thread; deleted there
};

}  // namespace halyard::hal
