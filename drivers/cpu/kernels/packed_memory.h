// PackedMemory: memory for what the kernels of one model pack, side by side in huge pages.
// Thread safety: as Packing.
// Ownership: pieces share the block that they lie in, which goes with the last of them.
#pragma once

#include <cstddef>
#include <memory>

namespace halyard::cpudriver {

// The alignment of packed memory. As many bytes behind its end may be read.
inline constexpr size_t kPackedAlignment = 64;

class PackedMemory {
 public:
  using Bytes = std::shared_ptr<std::byte>;

  // About `bytes` will be asked for: models with little are served from the heap.
  void expect(size_t bytes) { expected_ = bytes; }
  // Zeros, aligned to kPackedAlignment, and as many more behind them that may be read. Throws
  // std::bad_alloc.
  Bytes allocate(size_t bytes);

 private:
  size_t expected_ = 0;  // that no block has been taken for
  Bytes block_;
  size_t blockBytes_ = 0;
  size_t used_ = 0;  // of the block
};

}  // namespace halyard::cpudriver
