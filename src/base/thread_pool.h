// ThreadPool: a fixed set of threads that share the ranges of one loop at a time.
// Thread safety: parallelFor may be called from several threads; nested calls run inline.
// Ownership: owns its threads; joins them at destruction.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>

#include "base/thread_class.h"
#include "base/work_limit.h"

namespace halyard {

class ThreadPool {
 public:
  // The patience for executions of models, which are sequences of short loops.
  static constexpr std::chrono::microseconds kBetweenLoops{50};

  // `threads` includes the calling thread: 1 starts no thread, 0 means the number of usable
  // processors. The pool's threads are of `threadClass`. After a loop they poll for the next one
  // during `patience` before they sleep. A wake-up takes some tens of microseconds, which is too
  // long for sequences of short loops. While they poll, they offer the processor to other threads.
  // Use a patience only if the loops are worth the processor time in between.
  explicit ThreadPool(unsigned threads, ThreadClass threadClass = ThreadClass::NORMAL,
                      std::chrono::microseconds patience = {});
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  unsigned threads() const;
  // Returns the total time that the workers have waited for a processor since the pool was made.
  // They wait after a wake-up or while they poll, if other threads run. Waits as short as a wake-up
  // do not count.
  std::chrono::nanoseconds delay() const;
  // Calls body(begin, end) on disjoint ranges that cover [0, count). Each is at least `grain` long,
  // except the last. Returns when all ranges are done. If the pool is busy with another caller's
  // loop, the whole range runs in the calling thread. A body may throw only std::bad_alloc. Some
  // ranges may then be left out, and parallelFor throws it. A WorkLimit of the calling thread
  // applies to the loop in all threads. When it is exceeded between two ranges, parallelFor throws
  // WorkAbandoned. Each thread goes through its own part in `order`. It has the same part in both
  // orders.
  void parallelFor(size_t count, size_t grain,
                   const std::function<void(size_t begin, size_t end)>& body,
                   LoopOrder order = LoopOrder::FORWARD);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace halyard
