// WorkerThreads: a few threads that take jobs in order.
// Thread safety: post and drain may be called from any thread.
// Ownership: owns its threads. Its destruction waits for running jobs.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "halyard/driver/status.h"

namespace halyard::hal {

class WorkerThreads {
 public:
  static Result<std::unique_ptr<WorkerThreads>> start(unsigned threads);
  // Waits for the running jobs; those still queued are dropped.
  ~WorkerThreads();
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;

  // RESOURCE_EXHAUSTED_TRANSIENT when too many jobs wait already.
  Status post(std::function<void()> job);
  // Takes no more jobs, drops the queued ones, and waits for the running ones. False when they have
  // not ended in time.
  bool drain(std::chrono::milliseconds limit);

 private:
  struct State;
  explicit WorkerThreads(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
  std::vector<std::thread> threads_;
};

}  // namespace halyard::hal
