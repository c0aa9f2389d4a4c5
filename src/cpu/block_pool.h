// BlockPool: memory for the tensors of one execution, reused as they come and go.
// Thread safety: none; one pool belongs to one thread.
// Ownership: owns the blocks that are not in use; a Block owns its memory wherever it is.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <vector>

namespace halyard::cpu {

class BlockPool {
 public:
  static constexpr size_t kAlignment = 64;  // bytes; a cache line, and the widest vector registers

  struct Block {
    struct Free {
      void operator()(void* pointer) const { std::free(pointer); }
    };
    std::unique_ptr<void, Free> memory;  // uninitialised
    size_t capacity = 0;                 // bytes

    void* data() const { return memory.get(); }
  };

  // At least `bytes` bytes, also for 0. Empty (null data) when there is no memory.
  Block acquire(size_t bytes);
  // Counts a block from elsewhere among those in use, and returns it.
  Block adopt(Block block);
  // The opposite: the block is counted no more.
  Block disown(Block block);
  // Gives a block of this pool back; an empty one is ignored. What is kept for reuse never exceeds
  // what is in use, so that the pool stays within twice the live set; but a few small blocks are
  // kept all the same: each turn of a loop has its own and lets go of them all.
  void release(Block block);

  static constexpr size_t kFewBlocks = 16;
  static constexpr size_t kFewBytes = size_t{64} << 10;

  size_t bytesInUse() const { return inUse_; }
  size_t bytesKept() const { return kept_; }
  // The most that has been in use or kept at one time.
  size_t peakBytes() const { return peak_; }

 private:
  void trim();

  std::vector<Block> free_;  // the oldest first
  size_t inUse_ = 0;
  size_t kept_ = 0;
  size_t peak_ = 0;
};

}  // namespace halyard::cpu
