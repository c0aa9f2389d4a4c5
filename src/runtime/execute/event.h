// Event: an ANeuralNetworksEvent: the end of an asynchronous execution, or a sync fence.
// Thread safety: any number of threads may wait.
// Ownership: owns its fence, and the thread that computes, if it has one.
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
  // Runs `work` in a thread of its own; its result becomes the event's.
  // RESOURCE_EXHAUSTED_TRANSIENT when no thread can be started.
  static Result<std::unique_ptr<Event>> start(std::function<Status()> work);
  // Is over when `fence` is, at once if that is invalid. The first thread that waits, or the
  // event's end, then has `complete` make the result.
  static std::unique_ptr<Event> fenced(UniqueFd fence, std::function<Status(FenceState)> complete);
  // The application's fence, which is duplicated. BAD_DATA when it is none.
  static Result<std::unique_ptr<Event>> fromFence(int fd);
  // Waits for the end.
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  // Blocks until the work is done; the same result each time. As it has come through an
  // asynchronous status of the HAL, it has no code that this does not know.
  Status wait();
  // -1 when there is none. Belongs to the event.
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
