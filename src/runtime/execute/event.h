// Event, an ANeuralNetworksEvent: the end of an asynchronous execution, or a sync fence.
// Thread safety: any number of threads may wait.
// Ownership: owns its fence, and its computing thread, if any.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "halyard/driver/status.h"
#include "halyard/driver/sync_fence.h"

namespace halyard::runtime {

class Event {
 public:
  // Runs `work` in a thread of its own. The result of `work` becomes the event's. Returns
  // RESOURCE_EXHAUSTED_TRANSIENT when no thread can be started.
  static Result<std::unique_ptr<Event>> start(std::function<Status()> work);
  // Returns an event that ends with `fence`, or at once if the fence is invalid. The first waiting
  // thread, or the event's destructor, then calls `complete` for the result.
  static std::unique_ptr<Event> fenced(UniqueFd fence, std::function<Status(FenceState)> complete);
  // Returns an event for the application's fence, which is duplicated. BAD_DATA when `fd` is no
  // fence.
  static Result<std::unique_ptr<Event>> fromFence(int fd);
  // Waits for the end.
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  // Blocks until the work is done. Returns the same result each time. The result passes through an
  // asynchronous status of the HAL, so it has only codes of that set.
  Status wait();
  // Returns -1 when there is no fence. The event owns the descriptor.
  int fence() const { return fence_.get(); }

 private:
  Event() = default;
  void setResult(Status status);

  UniqueFd fence_;
  std::mutex mutex_;
  std::condition_variable done_;
  std::function<Status(FenceState)> complete_;  // until a thread has taken it
  std::optional<Status> result_;
  std::thread thread_;
};

}  // namespace halyard::runtime
