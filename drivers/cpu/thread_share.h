// ThreadShare: the threads for executions of one priority, and how many of these there are at the
// moment. Thread safety: all methods may be called from any thread. Ownership: owns the pool.
#pragma once

#include <atomic>
#include <chrono>

#include "base/thread_pool.h"

namespace halyard::cpudriver {

class ThreadShare {
 public:
  // As ThreadPool.
  explicit ThreadShare(unsigned threads, ThreadClass threadClass = ThreadClass::NORMAL,
                       std::chrono::microseconds patience = {})
      : pool_(threads, threadClass, patience) {}

  // Counts as an execution for as long as it lives.
  class Execution {
   public:
    explicit Execution(ThreadShare* share) : share_(share) {
      if (share_ != nullptr) share_->executions_.fetch_add(1, std::memory_order_relaxed);
    }
    ~Execution() {
      if (share_ != nullptr) share_->executions_.fetch_sub(1, std::memory_order_relaxed);
    }
    Execution(const Execution&) = delete;
    Execution& operator=(const Execution&) = delete;

   private:
    ThreadShare* const share_;
  };

  ThreadPool& pool() { return pool_; }
  // Whether executions keep all processors busy by themselves. A loop that is then divided waits
  // for threads whose processors others have, and nobody gains.
  bool isCrowded() const { return executions_.load(std::memory_order_relaxed) >= pool_.threads(); }
  // Whether nothing is executed at the moment.
  bool isIdle() const { return executions_.load(std::memory_order_relaxed) == 0; }

 private:
  ThreadPool pool_;
  std::atomic<unsigned> executions_{0};
};

}  // namespace halyard::cpudriver
