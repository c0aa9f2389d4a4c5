// RpcLoop: the one thread on which all Cap'n Proto objects of a runtime (or of a driver) live.
// Thread safety: post may be called from any thread; see rpc_loop_context.h for the loop's own
// side. Ownership: owns its thread, which ends with it. Whatever uses the loop shares it by
// shared_ptr and lets go of it on a thread other than the loop's.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include "halyard/driver/status.h"

namespace halyard::hal {

class RpcLoop {
 public:
  struct Context;  // what closures on the loop thread work with

  // Starts the thread. It takes no signals of the application, and the application's disposition of
  // SIGPIPE stays what it is.
  static Result<std::shared_ptr<RpcLoop>> start();
  // Runs what has been posted, ends the driver processes that are left, joins the thread.
  ~RpcLoop();
  RpcLoop(const RpcLoop&) = delete;
  RpcLoop& operator=(const RpcLoop&) = delete;

  // Runs `task` on the loop thread, after what was posted earlier. A task must not block, and every
  // Cap'n Proto object that it makes has to stay on the loop thread, for its destruction too.
  void post(std::function<void(Context&)> task);
  // For how long the thread has not come to what has been posted: about 0 while it works. For
  // waiters who must not rely on it.
  std::chrono::milliseconds silence();

 private:
  struct State;
  explicit RpcLoop(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
  std::thread thread_;
};

}  // namespace halyard::hal
