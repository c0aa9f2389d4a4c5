// FencePoller: one thread that waits for any number of fences, with deadlines.
// Thread safety: all methods may be called from any thread, also from a callback.
// Ownership: owns its thread and the watched descriptors. A callback may destroy it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "base/foreign_fd.h"
#include "halyard/driver/status.h"
#include "halyard/driver/sync_fence.h"

namespace halyard::hal {

class FencePoller {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  // SIGNALLED: all fences are signalled. ERROR: one fence is in its error state. PENDING: the
  // deadline has passed.
  using Callback = std::function<void(FenceState)>;

  // Starts the thread. RESOURCE_EXHAUSTED_TRANSIENT when the process has no thread or descriptor
  // left.
  static Result<std::unique_ptr<FencePoller>> start();
  // Drops the callbacks that have not been called.
  ~FencePoller();
  FencePoller(const FencePoller&) = delete;
  FencePoller& operator=(const FencePoller&) = delete;

  // Calls `done` once, on the thread of the poller. `done` must not block. Without fences there
  // must be a deadline. Returns a number for cancel().
  // Errors: RESOURCE_EXHAUSTED_TRANSIENT, and BAD_DATA for a descriptor that cannot be polled.
  // `done` is not called after an error.
  Result<uint64_t> watch(std::vector<ForeignFd> fences, std::optional<TimePoint> deadline,
                         Callback done);
  // True: `done` will not be called. False: `done` has been called, or will be called soon.
  bool cancel(uint64_t watch);

 private:
  struct State;
  explicit FencePoller(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
  std::thread thread_;
};

}  // namespace halyard::hal
