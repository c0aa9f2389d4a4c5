#include "kernels/packed_memory.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#include "kernels/huge_pages.h"

namespace halyard::cpudriver {
namespace {

constexpr size_t kMostExpected = SIZE_MAX / 4;
// The least block that gets huge pages: about as large as the second-level cache. Pages of 4 KiB
// have random physical addresses, so several of them may compete for the same places of this cache.
constexpr size_t kLeastBlock = kHugePage / 2;

size_t roundUp(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

PackedMemory::Bytes allocateFromHeap(size_t bytes) {
  PackedMemory::Bytes memory(static_cast<std::byte*>(std::aligned_alloc(kPackedAlignment, bytes)),
                             [](std::byte* pointer) { std::free(pointer); });
  if (memory == nullptr) throw std::bad_alloc();
  std::memset(memory.get(), 0, bytes);
  return memory;
}

}  // namespace

PackedMemory::Bytes PackedMemory::allocate(size_t bytes) {
  // With the added bytes no object would be as large; sanitizers end a process that asks for it.
  if (bytes > SIZE_MAX / 2 - kHugePage) throw std::bad_alloc();
  const size_t whole = roundUp(bytes + kPackedAlignment, kPackedAlignment);
  if (whole > blockBytes_ - used_) {
    const size_t huge = std::max(std::min(expected_, kMostExpected), whole);
    if (huge < kLeastBlock) return allocateFromHeap(whole);
    expected_ = 0;
    used_ = 0;
    // Panels are padded, so kernels pack more than expected. The additional quarter gets small
    // pages, because little of a last huge page might be used.
    blockBytes_ = std::max(huge + huge / 4, kHugePage);
    block_ = mapPages(blockBytes_, std::max(huge, kHugePage));
    if (block_ == nullptr) {
      // The expected size may be more than is allowed, and more than is needed.
      blockBytes_ = 0;
      return allocateFromHeap(whole);
    }
  }
  std::byte* const piece = block_.get() + used_;
  used_ += whole;
  return Bytes(block_, piece);
}

}  // namespace halyard::cpudriver
