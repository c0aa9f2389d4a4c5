// FencedWorkers: the threads on which fenced executions run once their fences have signalled: a few
// for each priority, started with the first.
// Thread safety: all methods may be called from any thread, from a job too.
// Ownership: owns its threads. Destruction waits for running jobs, but for the one that it happens
// in.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "halyard/driver/hal_types.h"

namespace halyard::hal {

class FencedWorkers {
 public:
  FencedWorkers();
  ~FencedWorkers();
  FencedWorkers(const FencedWorkers&) = delete;
  FencedWorkers& operator=(const FencedWorkers&) = delete;

  // Runs jobs of one priority in order; those of one `client`, an address that is not used
  // otherwise, never take all threads. RESOURCE_EXHAUSTED_TRANSIENT when no thread can be started.
  Status post(Priority priority, const void* client, std::function<void()> job);
  // Takes no more jobs, drops the queued ones and waits for the running ones, without a limit if
  // there is none. False when they have not ended in time.
  bool drain(std::optional<std::chrono::milliseconds> limit);

 private:
  struct State;
  const std::shared_ptr<State> state_;
};

}  // namespace halyard::hal
