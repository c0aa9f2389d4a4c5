// RunServices: scratch memory and threads for the kernels of one run, beside their operands.
// Thread safety: as ops::KernelServices. Reset only between two kernels.
// Ownership: owns scratch memory, which is kept from kernel to kernel. Borrows the threads.
#pragma once

#include <atomic>
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
  // Whether the kernels of this run are to divide their loops; they do while there are processors.
  void beginRun(bool divides) { divides_ = divides; }
  // The kernel is done with its scratch memory.
  void reset();

 private:
  struct Scratch {
    cpu::BlockPool::Block block;
    bool used = false;
  };

  ThreadShare* const threads_;
  // Kernels may run loops in several threads.
  std::atomic<bool> divides_ = true;
  std::mutex mutex_;
  std::vector<Scratch> scratch_;
};

}  // namespace halyard::cpudriver
