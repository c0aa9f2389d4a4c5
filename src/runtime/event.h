// Event: an ANeuralNetworksEvent: the end of an asynchronous execution.
// Thread safety: any number of threads may wait. Ownership: owns the thread that computes.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "halyard/driver/status.h"

namespace halyard::runtime {

class Event {
 public:
  // Runs `work` in a thread of its own; its result becomes the event's.
  // RESOURCE_EXHAUSTED_TRANSIENT when no thread can be started.
  static Result<std::unique_ptr<Event>> start(std::function<Status()> work);
  // Waits for the end.
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  // Blocks until the work is done; the same result each time.
  Status wait();

 private:
  Event() = default;

  std::mutex mutex_;
  std::condition_variable done_;
  std::optional<Status> result_;
  std::thread thread_;
};

}  // namespace halyard::runtime
