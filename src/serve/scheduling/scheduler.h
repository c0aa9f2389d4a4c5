// Scheduler: the queue of a model, and the threads that compute its requests.
// Thread safety: any thread, except the destructor.
// Ownership: owns its instances and threads. It borrows requests until it has answered them.
//
// A request that finds an idle instance and an empty queue is computed in the thread that submits
// it, if its caller allows that. All other requests wait for one of the threads.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "serve/scheduling/instance.h"
#include "serve/scheduling/request_queue.h"

namespace halyard::serve {

struct SchedulerLimits {
  std::vector<uint32_t> sizes;  // of batches, ascending; {1} without batching
  std::chrono::microseconds queueDelay{0};
  uint32_t queueLimit = 256;
};

class Scheduler {
 public:
  // `model` names the model in errors. `statistics` outlives the scheduler.
  Scheduler(std::string model, SchedulerLimits limits,
            std::vector<std::unique_ptr<Instance>> instances, StatisticsKeeper& statistics);
  // Waits until all requests are answered.
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Answers the request sooner or later, perhaps before this function returns. Refuses it at once:
  // OVERLOADED if the queue is full, or so long that the deadline must pass. LATE if the deadline
  // has passed. UNAVAILABLE after stop().
  void submit(QueuedRequestPtr request);

  // Refuses further requests, and waits until all others are answered.
  void stop();

  struct Load {
    size_t queued = 0;
    size_t running = 0;  // instances that compute
    size_t instances = 0;
  };
  Load load() const;

 private:
  void work();
  void expire();
  Clock::time_point waitEndOf(const QueuedRequest& request) const;
  bool isWaitingForBatch(Clock::time_point now) const;
  void run(std::unique_lock<std::mutex>& lock, std::vector<QueuedRequestPtr> batch);
  std::chrono::nanoseconds expectedWait() const;
  Outcome refusal(const QueuedRequest& request) const;
  Outcome late(const QueuedRequest& request) const;
  void refuse(QueuedRequestPtr request, Outcome outcome);
  void dropAbandoned(std::vector<QueuedRequestPtr>& batch);
  void answerLate(std::vector<QueuedRequestPtr> requests);

  const std::string model_;
  const SchedulerLimits limits_;
  StatisticsKeeper& statistics_;
  const std::vector<std::unique_ptr<Instance>> instances_;

  mutable std::mutex mutex_;
  std::condition_variable work_;     // for work()
  std::condition_variable expiry_;   // for expire()
  std::condition_variable drained_;  // for stop()
  RequestQueue queue_;
  std::vector<Instance*> idle_;
  std::chrono::nanoseconds perRow_{0};  // the mean time of an inference, of the last ones
  bool stopped_ = false;                // no further requests
  bool ended_ = false;                  // the threads end
  std::vector<std::thread> threads_;
};

}  // namespace halyard::serve
