// FencePoller: one thread that waits for any number of fences, with deadlines.
// Thread safety: all methods may be called from any thread, from a callback too.
// Ownership: owns its thread, and the descriptors that are watched. May be destroyed by a callback.
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
  // SIGNALLED: all fences have. ERROR: one has failed, at once. PENDING: the deadline has passed.
  using Callback = std::function<void(FenceState)>;

  // Starts the thread. RESOURCE_EXHAUSTED_TRANSIENT when the process has no more of what it takes.
  static Result<std::unique_ptr<FencePoller>> start();
  // Callbacks that have not been called never are.
  ~FencePoller();
  FencePoller(const FencePoller&) = delete;
  FencePoller& operator=(const FencePoller&) = delete;

  // Has `done` called once, on the poller's thread; it must not block. Without fences the deadline
  // has to be there. Gives a number for cancel. RESOURCE_EXHAUSTED_TRANSIENT, or BAD_DATA for what
  // cannot be polled: `done` is not called then.
  Result<uint64_t> watch(std::vector<ForeignFd> fences, std::optional<TimePoint> deadline,
                         Callback done);
  // True: `done` will not be called. False: it has been called, or is about to be.
  bool cancel(uint64_t watch);

 private:
  struct State;
  explicit FencePoller(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
  std::thread thread_;
};

}  // namespace halyard::hal
