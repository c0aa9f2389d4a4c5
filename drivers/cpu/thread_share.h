// ThreadShare: the threads for executions of one priority, how many of these there are at the
// moment, and whether there are processors for both.
// Thread safety: all methods may be called from any thread.
// Ownership: owns the pool.
#pragma once

#include <atomic>
#include <chrono>

#include "base/thread_pool.h"
#include "division_policy.h"

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
  // Whether a loop is divided now. It is not while executions keep all processors busy by
  // themselves, or other processes do. It would wait for threads whose processors are taken,
  // without any gain.
  bool divides() {
    const unsigned threads = pool_.threads();
    if (executions_.load(std::memory_order_relaxed) >= threads) return false;
    return threads < 2 || policy_.divides(pool_.delay() / (threads - 1));
  }

 private:
  ThreadPool pool_;
  DivisionPolicy policy_;
  std::atomic<unsigned> executions_{0};
};

}  // namespace halyard::cpudriver
