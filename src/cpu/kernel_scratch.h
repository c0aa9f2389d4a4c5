// KernelScratch: scratch memory for the kernels of one run, kept from kernel to kernel. A run asks
// for the same sizes in the same order every time.
// Thread safety: as ops::KernelServices. reset() and release() only between two kernels.
// Ownership: owns the memory.
#pragma once

#include <mutex>
#include <vector>

#include "cpu/block_pool.h"
#include "ops/operation.h"

namespace halyard::cpu {

class KernelScratch : public ops::KernelServices {
 public:
  void* scratch(size_t bytes) final;
  // The most threads that share a loop of a kernel.
  virtual unsigned threads() const { return 1; }
  // The kernel is done with its scratch memory.
  void reset();
  void release() { scratch_.clear(); }

 private:
  struct Scratch {
    BlockPool::Block block;
    bool used = false;
  };

  // Kernels may run loops in several threads.
  std::mutex mutex_;
  std::vector<Scratch> scratch_;
};

}  // namespace halyard::cpu
