// WorkLimit: for how long what a thread computes is still wanted, and how a computation that has
// become pointless is abandoned.
// Thread safety: a limit is set per thread; several threads may look at the same one.
// Ownership: WorkLimitScope borrows the limit; the token in it is a copy.
//
// Whoever runs a computation sets the limit for its thread. Loops (ThreadPool::parallelFor,
// forEachChunk) and checkWorkLimit look at it and throw WorkAbandoned when the work is not wanted
// any more; whoever has set the limit catches that. Nothing else may catch it for good: what has
// been computed by then is incomplete.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <stop_token>

namespace halyard {

struct WorkLimit {
  using Clock = std::chrono::steady_clock;

  std::optional<Clock::time_point> deadline;
  std::stop_token cancel;

  // True when the deadline has passed or the work has been cancelled.
  bool exceeded() const {
    return cancel.stop_requested() || (deadline && Clock::now() >= *deadline);
  }
};

// Not a std::exception: nobody takes it for a failure.
struct WorkAbandoned {};

// Makes `limit` that of the calling thread until its destruction; null: no limit.
class WorkLimitScope {
 public:
  explicit WorkLimitScope(const WorkLimit* limit);
  ~WorkLimitScope();
  WorkLimitScope(const WorkLimitScope&) = delete;
  WorkLimitScope& operator=(const WorkLimitScope&) = delete;

 private:
  const WorkLimit* const previous_;
};

// That of the calling thread; null: none.
const WorkLimit* currentWorkLimit();
// Throws WorkAbandoned when the calling thread's limit is exceeded. For long computations without
// loops that do it; costs a reading of the clock.
void checkWorkLimit();

// A loop in the calling thread, whose limit is looked at between ranges that take about half a
// millisecond each. How long they may be is found while the loop runs.
// Thread safety: of one thread. Ownership: borrows `body`.
class ChunkedLoop {
 public:
  using Body = std::function<void(size_t begin, size_t end)>;

  // Ranges have at least `grain` iterations, but for the last of a run.
  ChunkedLoop(size_t grain, const Body& body);
  // Calls body(begin, end) on consecutive ranges that cover [begin, end): one without a limit.
  void run(size_t begin, size_t end);

 private:
  void adapt(WorkLimit::Clock::duration taken);

  const Body& body_;
  const WorkLimit* const limit_;
  const size_t grain_;
  size_t step_;
};

// A ChunkedLoop that runs once.
void forEachChunk(size_t begin, size_t end, size_t grain, const ChunkedLoop::Body& body);

}  // namespace halyard
