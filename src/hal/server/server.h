// Server: serves a hal::Device to other processes over sockets with HAL 1.0 to 1.3.
// Thread safety: serve and drain may be called from any thread except the loop thread.
// Ownership: shares the device and the loop. Owns its threads and its connections.
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
  IsolationReport isolation;  // reported to clients
};

// The limits of one client.
struct ClientTerms {
  std::shared_ptr<Quota> quota;  // null: no limits
  size_t queuedCalls = 1024;     // the calls that wait for a thread
  Status refusal;                // not OK: the only answer before the client is disconnected
  UniqueFd process;              // the client's pidfd: the client ends with it. May be invalid
  uint32_t uid = static_cast<uint32_t>(::geteuid());  // the client's user, from the kernel
};

// Validates models and requests, so that the device may trust them. The device's methods run on
// threads of a FairExecutor, never on the loop thread. Clients may use the methods up to the
// device's halVersion. A missing feature of the device, such as caches, is GENERAL_FAILURE with a
// text.
class Server {
 public:
  static Result<std::unique_ptr<Server>> start(std::shared_ptr<RpcLoop> loop,
                                               std::shared_ptr<Device> device,
                                               ServerOptions options = {});
  // Closes all connections and waits for the running calls.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Serves a connected Unix stream socket. `onDisconnect` is called on the loop thread after the
  // client has gone.
  void serve(UniqueFd socket, std::function<void()> onDisconnect, ClientTerms terms = {});
  // Accepts no more calls, asks the running executions to end (ExecuteOptions::cancel) and waits
  // for the running calls. False when they have not ended in time, or when the loop does not work.
  // The caller must then end the process.
  bool drain(std::chrono::milliseconds limit);

 private:
  Server(std::shared_ptr<RpcLoop> loop, ServerCore* core) : loop_(std::move(loop)), core_(core) {}

  // Runs `work` on the loop thread and waits for it. Returns false if it is not done by `until`.
  bool onLoop(std::function<void()> work, TimePoint until = TimePoint::max());

  std::shared_ptr<RpcLoop> loop_;
  ServerCore* core_;  // used and deleted on the loop thread
};

}  // namespace halyard::hal
