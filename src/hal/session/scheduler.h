// Scheduler: in which thread, and when, work of each priority runs.
// Thread safety: all methods may be called from any thread.
// Ownership: owns the threads for work of low priority; joins them at destruction, when no run may
// be in progress.
//
// Work of medium and high priority runs in its caller's thread, at once. Work of low priority runs
// in threads of the background, so that it gives way to everything else at any moment, and only a
// few pieces of it at a time: what waits has no processor, no memory and no kernels of its own.
// Clients take turns in that.
#pragma once

#include <functional>
#include <memory>

#include "halyard/driver/hal_types.h"

namespace halyard::hal {

class Scheduler {
 public:
  // `lowAtATime`: how many pieces of low priority run at a time; 0: one per processor, at least 4.
  explicit Scheduler(unsigned lowAtATime = 0);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Runs `work`, which must not throw, and returns when it has ended. `client`: an address that
  // stands for who asked. MISSED_DEADLINE_TRANSIENT when the deadline passes, and OP_FAILED when
  // `cancel` is asked to stop, before it is the turn of `work`, which is dropped then.
  Status run(Priority priority, const void* client, std::optional<TimePoint> deadline,
             const std::stop_token& cancel, const std::function<void()>& work);
  // How many pieces wait for their turn.
  size_t waiting() const;

 private:
  struct State;
  const std::shared_ptr<State> state_;
};

// Makes the calling thread one for work of `priority` only, for good. Threads that run executions
// of one priority call it when they start: Scheduler::run then runs work in them directly.
void enterPriorityClass(Priority priority);

}  // namespace halyard::hal
