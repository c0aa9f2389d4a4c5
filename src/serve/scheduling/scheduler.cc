#include "serve/scheduling/scheduler.h"

#include <algorithm>

namespace halyard::serve {

Scheduler::Scheduler(std::string model, SchedulerLimits limits,
                     std::vector<std::unique_ptr<Instance>> instances, StatisticsKeeper& statistics)
    : model_(std::move(model)),
      limits_(std::move(limits)),
      statistics_(statistics),
      instances_(std::move(instances)) {
  for (const auto& instance : instances_) idle_.push_back(instance.get());
  for (size_t i = 0; i < instances_.size(); ++i) threads_.emplace_back([this] { work(); });
  threads_.emplace_back([this] { expire(); });
}

Scheduler::~Scheduler() {
  stop();
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  work_.notify_all();
  expiry_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Scheduler::stop() {
  std::unique_lock lock(mutex_);
  stopped_ = true;
  work_.notify_all();
  drained_.wait(lock, [this] { return queue_.empty() && idle_.size() == instances_.size(); });
}

Scheduler::Load Scheduler::load() const {
  const std::lock_guard lock(mutex_);
  return {queue_.size(), instances_.size() - idle_.size(), instances_.size()};
}

// How long a new request waits until its computation begins.
std::chrono::nanoseconds Scheduler::expectedWait() const {
  return perRow_ * static_cast<int64_t>(queue_.rows()) / static_cast<int64_t>(instances_.size());
}

Outcome Scheduler::refusal(const QueuedRequest& request) const {
  if (stopped_) {
    return {Fault::UNAVAILABLE, fmt::format("{} is being unloaded", model_)};
  }
  const auto wait = expectedWait();
  const auto retryAfter = std::chrono::ceil<std::chrono::milliseconds>(wait);
  if (queue_.size() >= limits_.queueLimit) {
    return Outcome::overloaded(
        fmt::format("{}: the queue has its {} requests", model_, limits_.queueLimit), retryAfter);
  }
  const Clock::time_point now = Clock::now();
  if (request.deadline && *request.deadline <= now) return late(request);
  if (request.deadline && !queue_.empty() && now + wait > *request.deadline) {
    return Outcome::overloaded(
        fmt::format("{}: the wait of about {} ms exceeds the timeout", model_, retryAfter.count()),
        retryAfter);
  }
  return {};
}

void Scheduler::refuse(QueuedRequestPtr request, Outcome outcome) {
  statistics_.addFailure(outcome.fault(), Clock::now() - request->arrival);
  request->done({std::move(outcome), {}, {}});
}

void Scheduler::submit(QueuedRequestPtr request) {
  std::unique_lock lock(mutex_);
  Outcome refused = refusal(*request);
  if (!refused.ok()) {
    lock.unlock();
    refuse(std::move(request), std::move(refused));
    return;
  }
  const bool isFree = queue_.empty() && !idle_.empty() && limits_.queueDelay.count() == 0;
  if (isFree && request->request->mayComputeHere) {
    std::vector<QueuedRequestPtr> alone;
    alone.push_back(std::move(request));
    run(lock, std::move(alone));
    return;
  }
  const std::optional<Clock::time_point> next = queue_.nextDeadline();
  const bool isEarliest = request->deadline && (!next || *request->deadline < *next);
  request->waitEnd = waitEndOf(*request);
  queue_.push(std::move(request));
  if (isEarliest) expiry_.notify_one();
  work_.notify_one();
}

// When a request stops waiting for others of its batch. A quarter of the time until its deadline is
// for its computation, or more for a slow model.
Clock::time_point Scheduler::waitEndOf(const QueuedRequest& request) const {
  const Clock::time_point end = request.arrival + limits_.queueDelay;
  if (!request.deadline) return end;
  const std::chrono::nanoseconds rest =
      std::max((*request.deadline - request.arrival) / 4, 2 * perRow_ * int64_t{request.rows});
  return std::min(end, *request.deadline - rest);
}

// Whether no request must be computed yet, since all wait for others of their batch.
bool Scheduler::isWaitingForBatch(Clock::time_point now) const {
  return !stopped_ && queue_.rows() < limits_.sizes.back() && now < queue_.firstWaitEnd();
}

// Takes the requests whose clients have gone out of the batch, and answers them.
void Scheduler::dropAbandoned(std::vector<QueuedRequestPtr>& batch) {
  std::vector<QueuedRequestPtr> kept;
  for (QueuedRequestPtr& request : batch) {
    const auto& isAbandoned = request->request->isAbandoned;
    if (isAbandoned && isAbandoned()) {
      refuse(std::move(request),
             {Fault::CANCELLED, fmt::format("{}: the client has gone", model_)});
    } else {
      kept.push_back(std::move(request));
    }
  }
  batch = std::move(kept);
}

// Computes a batch on an idle instance. The lock is held before and after.
void Scheduler::run(std::unique_lock<std::mutex>& lock, std::vector<QueuedRequestPtr> batch) {
  Instance* const instance = idle_.back();
  idle_.pop_back();
  lock.unlock();
  dropAbandoned(batch);
  int64_t rows = 0;
  for (const QueuedRequestPtr& request : batch) rows += request->rows;
  const Clock::time_point start = Clock::now();
  if (rows != 0) instance->compute(std::move(batch));
  const std::chrono::nanoseconds time = Clock::now() - start;
  lock.lock();
  if (rows != 0) perRow_ = perRow_.count() == 0 ? time / rows : (perRow_ * 7 + time / rows) / 8;
  idle_.push_back(instance);
  if (!queue_.empty()) {
    work_.notify_one();
  } else if (stopped_) {
    drained_.notify_all();
  }
}

void Scheduler::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait(lock, [this] { return ended_ || (!queue_.empty() && !idle_.empty()); });
    if (ended_) return;
    const Clock::time_point now = Clock::now();
    if (isWaitingForBatch(now)) {
      work_.wait_until(lock, queue_.firstWaitEnd());
      continue;
    }
    std::vector<QueuedRequestPtr> late = queue_.takeExpired(now);
    if (!late.empty()) {
      lock.unlock();
      answerLate(std::move(late));
      lock.lock();
      if (queue_.empty() && stopped_) drained_.notify_all();
      continue;
    }
    run(lock, queue_.takeBatch(limits_.sizes));
  }
}

Outcome Scheduler::late(const QueuedRequest& request) const {
  const auto waited =
      std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - request.arrival);
  return {Fault::LATE,
          fmt::format("{}: the deadline passed after {} ms in the queue", model_, waited.count())};
}

void Scheduler::answerLate(std::vector<QueuedRequestPtr> requests) {
  for (QueuedRequestPtr& request : requests) {
    Outcome outcome = late(*request);
    refuse(std::move(request), std::move(outcome));
  }
}

// Answers waiting requests when their deadlines pass, while all instances compute.
void Scheduler::expire() {
  std::unique_lock lock(mutex_);
  while (!ended_) {
    const std::optional<Clock::time_point> next = queue_.nextDeadline();
    if (!next) {
      expiry_.wait(lock);
      continue;
    }
    expiry_.wait_until(lock, *next);
    std::vector<QueuedRequestPtr> late = queue_.takeExpired(Clock::now());
    if (late.empty()) continue;
    lock.unlock();
    answerLate(std::move(late));
    lock.lock();
    if (queue_.empty() && stopped_) drained_.notify_all();
  }
}

}  // namespace halyard::serve
