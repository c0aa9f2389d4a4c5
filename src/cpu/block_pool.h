// BlockPool: memory for the tensors of one execution, reused between tensors.
// Thread safety: none; one pool belongs to one thread.
// Ownership: the pool owns the free blocks; each Block object owns its memory.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <vector>

namespace halyard::cpu {

class BlockPool {
 public:
  static constexpr size_t kAlignment = 64;  // bytes: a cache line, the widest vector registers

  struct Block {
    struct Free {
      void operator()(void* pointer) const { std::free(pointer); }
    };
    std::unique_ptr<void, Free> memory;  // uninitialised
    size_t capacity = 0;                 // bytes

    void* data() const { return memory.get(); }
  };

  // Returns memory that belongs to no pool. Throws std::bad_alloc.
  static Block allocate(size_t bytes);
  // Returns at least `bytes` bytes, also for 0. Returns an empty block (null data) when there is no
  // memory.
  Block acquire(size_t bytes);
  // Adds a block from elsewhere to those in use, and returns it.
  Block adopt(Block block);
  // The opposite: removes the block from those in use.
  Block disown(Block block);
  // Returns a block to this pool; an empty block is ignored. The pool never keeps more for reuse
  // than is in use, so it stays within twice the live set. It always keeps a few small blocks,
  // because each iteration of a loop acquires and releases its own.
  void release(Block block);

  static constexpr size_t kFewBlocks = 16;
  static constexpr size_t kFewBytes = size_t{64} << 10;

  size_t bytesInUse() const { return inUse_; }
  size_t bytesKept() const { return kept_; }
  // Returns the maximum number of bytes in use or kept at one time.
  size_t peakBytes() const { return peak_; }

 private:
  void trim();

  std::vector<Block> free_;  // ordered by age, oldest first
  size_t inUse_ = 0;
  size_t kept_ = 0;
  size_t peak_ = 0;
};

}  // namespace halyard::cpu
