// ThreadPool: a fixed set of threads that share the ranges of one loop at a time.
// Thread safety: parallelFor may be called from several threads; nested calls run inline.
// Ownership: owns its threads; joins them at destruction.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>

#include "base/thread_class.h"

namespace halyard {

class ThreadPool {
 public:
  // The patience of those who compute models: rows of short loops.
  static constexpr std::chrono::microseconds kBetweenLoops{50};

  // `threads` counts the calling thread: 1 starts none. 0 takes the number of usable processors.
  // Its own threads are of `threadClass`. Behind a loop they look for the next one for as long as
  // `patience` before they sleep: waking a thread takes some tens of microseconds, which short
  // loops in a row cannot afford. Meanwhile they let others have the processor who want it. Only
  // for pools whose loops are worth a processor's time in between.
  explicit ThreadPool(unsigned threads, ThreadClass threadClass = ThreadClass::NORMAL,
                      std::chrono::microseconds patience = {});
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  unsigned threads() const;
  // How long the workers together have waited for a processor since the pool was made: woken for a
  // loop, or looking out for one, while other threads ran. What is too short to tell from waking
  // does not count.
  std::chrono::nanoseconds delay() const;
  // Calls body(begin, end) on disjoint ranges covering [0, count), each at least `grain` long but
  // for the last; returns when all have been done. When the pool is busy with another caller's loop
  // the whole range runs in the calling thread. A body may throw std::bad_alloc, and nothing else:
  // ranges may then be left out, and parallelFor throws it. With a WorkLimit in the calling thread
  // the limit holds for the loop, too, whichever threads run it: WorkAbandoned is thrown when it is
  // exceeded between two ranges.
  void parallelFor(size_t count, size_t grain,
                   const std::function<void(size_t begin, size_t end)>& body);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace halyard
