// RpcLoop: the single thread of all Cap'n Proto objects of a runtime or a driver.
// Thread safety: any thread may call post; see rpc_loop_context.h for the loop's own side.
// Ownership: owns its thread, which ends with it. Users share the loop by shared_ptr and release it
// on another thread than the loop's.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include "halyard/driver/status.h"

namespace halyard::hal {

class RpcLoop {
 public:
  struct Context;  // the state for tasks on the loop thread

  // Starts the thread. It takes no signals of the application, and the application's setting for
  // SIGPIPE stays.
  static Result<std::shared_ptr<RpcLoop>> start();
  // Runs the posted tasks, ends the remaining driver processes, and joins the thread.
  ~RpcLoop();
  RpcLoop(const RpcLoop&) = delete;
  RpcLoop& operator=(const RpcLoop&) = delete;

  // Runs `task` on the loop thread, after all earlier tasks. A task must not block. All its Cap'n
  // Proto objects must stay on the loop thread, also for their destruction.
  void post(std::function<void(Context&)> task);
  // Returns for how long posted tasks have been waiting: about 0 while the thread works. For
  // waiters that must not rely on the thread.
  std::chrono::milliseconds silence();

 private:
  struct State;
  explicit RpcLoop(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
  std::thread thread_;
};

}  // namespace halyard::hal
