#include "packing.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <new>

namespace halyard::cpudriver {
namespace {

// From here on memory comes from the kernel, as zeros, and goes back to it.
constexpr size_t kLeastMapped = size_t{256} << 10;

}  // namespace

Packing::Bytes Packing::make(size_t bytes, const Write& write) {
  const size_t capacity = (bytes + 2 * kPackedAlignment - 1) / kPackedAlignment * kPackedAlignment;
  std::shared_ptr<std::byte> memory;
  if (capacity >= kLeastMapped) {
    void* const mapped =
        ::mmap(nullptr, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    memory.reset(static_cast<std::byte*>(mapped),
                 [capacity](std::byte* pointer) { ::munmap(pointer, capacity); });
  } else {
    memory.reset(static_cast<std::byte*>(std::aligned_alloc(kPackedAlignment, capacity)),
                 [](std::byte* pointer) { std::free(pointer); });
    if (memory == nullptr) throw std::bad_alloc();
    std::memset(memory.get(), 0, capacity);
  }
  write(memory.get());
  return memory;
}

}  // namespace halyard::cpudriver
