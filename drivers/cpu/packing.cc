#include "packing.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace halyard::cpudriver {

// From the heap, which has the pages of models that have gone: new ones would have to be faulted
// in.
Packing::Bytes Packing::make(size_t bytes, const Write& write) {
  const size_t capacity = (bytes + 2 * kPackedAlignment - 1) / kPackedAlignment * kPackedAlignment;
  std::shared_ptr<std::byte> memory(
      static_cast<std::byte*>(std::aligned_alloc(kPackedAlignment, capacity)),
      [](std::byte* pointer) { std::free(pointer); });
  if (memory == nullptr) throw std::bad_alloc();
  std::memset(memory.get(), 0, capacity);
  write(memory.get());
  return memory;
}

}  // namespace halyard::cpudriver
