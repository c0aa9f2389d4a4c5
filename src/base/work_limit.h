// WorkLimit: tells for how long a thread's computation is still wanted, and stops a computation
// that is not.
// Thread safety: a limit is set per thread; several threads may read the same one.
// Ownership: WorkLimitScope borrows the limit; the token in it is a copy.
//
// The code that starts a computation sets the limit for its thread. Loops (ThreadPool::parallelFor,
// forEachChunk) and checkWorkLimit check it. They throw WorkAbandoned when the work is not wanted
// any more. The code that set the limit catches it. No other code may swallow it, because the
// results are incomplete.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>

namespace halyard {

struct WorkLimit {
  using Clock = std::chrono::steady_clock;

  std::optional<Clock::time_point> deadline;
  std::stop_token cancel;

  // Returns true when the deadline has passed or the work has been cancelled.
  bool exceeded() const {
    return cancel.stop_requested() || (deadline && Clock::now() >= *deadline);
  }
};

// The type is not a std::exception, so that no handler takes it for a failure.
struct WorkAbandoned {};

// Sets `limit` for the calling thread until its destruction; null: no limit.
class WorkLimitScope {
 public:
  explicit WorkLimitScope(const WorkLimit* limit);
  ~WorkLimitScope();
  WorkLimitScope(const WorkLimitScope&) = delete;
  WorkLimitScope& operator=(const WorkLimitScope&) = delete;

 private:
  const WorkLimit* const previous_;
};

// Returns the limit of the calling thread; null: none.
const WorkLimit* currentWorkLimit();
// Throws WorkAbandoned when the calling thread's limit is exceeded. For long computations without
// loops that check it. Costs one reading of the clock.
void checkWorkLimit();

// The order of a loop's ranges. The body gets begin < end in both orders.
enum class LoopOrder : uint8_t { FORWARD, BACKWARD };

// A loop in the calling thread. It checks the thread's limit between ranges of about half a
// millisecond each. It adapts the length of the ranges while it runs.
// Thread safety: one thread only.
// Ownership: borrows `body`.
class ChunkedLoop {
 public:
  using Body = std::function<void(size_t begin, size_t end)>;

  // Ranges have at least `grain` iterations, except for the last of a run.
  ChunkedLoop(size_t grain, const Body& body, LoopOrder order = LoopOrder::FORWARD);
  // Calls body(begin, end) on consecutive ranges that cover [begin, end), in the loop's order.
  // Without a limit there is one range.
  void run(size_t begin, size_t end);

 private:
  void adapt(WorkLimit::Clock::duration taken);

  const Body& body_;
  const WorkLimit* const limit_;
  const size_t grain_;
  const LoopOrder order_;
  size_t step_;
};

// A ChunkedLoop that runs once.
void forEachChunk(size_t begin, size_t end, size_t grain, const ChunkedLoop::Body& body,
                  LoopOrder order = LoopOrder::FORWARD);

}  // namespace halyard
