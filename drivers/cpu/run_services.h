// RunServices: what the kernels of one run use beside their operands.
// Thread safety: as ops::KernelServices; reset between two kernels only.
// Ownership: owns scratch memory, which is kept from kernel to kernel; borrows the threads.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <vector>

#include "cpu/block_pool.h"
#include "ops/operation.h"
#include "thread_share.h"

namespace halyard::cpudriver {

class RunServices final : public ops::KernelServices {
 public:
  // `threads` may be null.
  explicit RunServices(ThreadShare* threads) : threads_(threads) {}

  void parallelFor(size_t count, size_t grain,
                   const std::function<void(size_t begin, size_t end)>& body) override;
  void* scratch(size_t bytes) override;
  // Whether the next kernel's loops are divided from a quarter of the usual elements on.
  void setFiner(bool finer) { finer_ = finer; }
  // Whether the kernels of this run are to divide their loops; they do while there are processors.
  void beginRun(bool divides);
  // Whether the run so far has had loops that can be divided, and if they were to, all were, and no
  // thread has come late.
  bool wasAsWanted() const;
  bool hadLoops() const { return hadLoops_; }
  // The kernel is done with its scratch memory.
  void reset();

 private:
  struct Scratch {
    cpu::BlockPool::Block block;
    bool used = false;
  };

  ThreadShare* const threads_;
  bool finer_ = false;
  // Kernels may run loops in several threads.
  std::atomic<bool> divides_ = true;
  std::atomic<bool> hadLoops_ = false;
  std::atomic<bool> withheld_ = false;
  std::chrono::nanoseconds delayBefore_{0};  // of the threads
  std::mutex mutex_;
  std::vector<Scratch> scratch_;
};

}  // namespace halyard::cpudriver
