// WorkerThreads: threads that take jobs in turn from the lanes of several clients.
// Thread safety: all methods may be called from any thread.
// Ownership: owns its threads; lanes are shared with those who post. Its destruction waits for
// running jobs.
//
// No client can keep another waiting for long, whatever it posts. A thread takes the next job from
// the lane that has the fewest running, in turn among equals; of jobs in higher classes first, but
// every eighth time from the lowest. A lane of whose jobs none runs gets a thread of its own when
// it has waited for kPatience because all threads are busy with others.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "base/thread_class.h"
#include "halyard/driver/hal_types.h"
#include "halyard/driver/status.h"

namespace halyard::hal {

class WorkerThreads {
 public:
  static constexpr std::chrono::milliseconds kPatience{5};

  struct LaneLimits {
    size_t queued = 1024;   // jobs that wait
    unsigned running = 16;  // jobs that run at a time
  };
  class Lane;  // the jobs of one client

  // `threads` are always there, at most `mostThreads` when lanes would starve.
  static Result<std::unique_ptr<WorkerThreads>> start(
      unsigned threads, unsigned mostThreads = 320, ThreadClass threadClass = ThreadClass::NORMAL);
  // Waits for the running jobs; those still queued are dropped.
  ~WorkerThreads();
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;

  std::shared_ptr<Lane> openLane(const LaneLimits& limits);
  // Takes no more jobs in the lane and drops its queued ones, on one of the threads as their
  // destruction may take long. Its running jobs go on.
  void close(const std::shared_ptr<Lane>& lane);

  // RESOURCE_EXHAUSTED_TRANSIENT when too many jobs of the lane wait already.
  Status post(const std::shared_ptr<Lane>& lane, Priority priority, std::function<void()> job);
  // Takes no more jobs, drops the queued ones, and waits for the running ones. False when they have
  // not ended in time.
  bool drain(std::chrono::milliseconds limit);

  // For tests: how many threads there are.
  size_t threads() const;

 private:
  struct State;
  explicit WorkerThreads(std::shared_ptr<State> state);

  std::shared_ptr<State> state_;
};

}  // namespace halyard::hal
