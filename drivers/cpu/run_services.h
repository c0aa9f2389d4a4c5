// RunServices: scratch memory and threads for the kernels of one run, beside their operands.
// Thread safety: as cpu::KernelScratch.
// Ownership: owns scratch memory. Borrows the threads.
#pragma once

#include <atomic>
#include <functional>

#include "base/work_limit.h"
#include "cpu/kernel_scratch.h"
#include "thread_share.h"

namespace halyard::cpudriver {

class RunServices final : public cpu::KernelScratch {
 public:
  // `threads` may be null.
  explicit RunServices(ThreadShare* threads = nullptr) : threads_(threads) {}
  // Later loops use these. Only between two runs.
  void useThreads(ThreadShare* threads) { threads_ = threads; }

  void parallelFor(size_t count, size_t grain,
                   const std::function<void(size_t begin, size_t end)>& body) override {
    divide(count, grain, body, LoopOrder::FORWARD);
  }
  void parallelForBackward(size_t count, size_t grain,
                           const std::function<void(size_t begin, size_t end)>& body) override {
    divide(count, grain, body, LoopOrder::BACKWARD);
  }
  unsigned threads() const override { return threads_ == nullptr ? 1 : threads_->pool().threads(); }
  // Whether the kernels of this run are to divide their loops; they do while there are processors.
  void beginRun(bool divides) { divides_ = divides; }

 private:
  void divide(size_t count, size_t grain, const std::function<void(size_t begin, size_t end)>& body,
              LoopOrder order);

  ThreadShare* threads_;
  // Kernels may run loops in several threads.
  std::atomic<bool> divides_ = true;
};

}  // namespace halyard::cpudriver
