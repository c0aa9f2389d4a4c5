#include "kernels/huge_pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>

namespace halyard::cpudriver {

std::shared_ptr<std::byte> mapPages(size_t bytes, size_t hugeBytes) {
  if (bytes > SIZE_MAX / 2) return nullptr;
  // Enough that what begins with a huge page is somewhere in it.
  const size_t length = bytes + kHugePage;
  void* const base = ::mmap(nullptr, length, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return nullptr;
  auto* const begin = reinterpret_cast<std::byte*>(
      (reinterpret_cast<uintptr_t>(base) + kHugePage - 1) / kHugePage * kHugePage);
  (void)::madvise(begin, std::min(bytes, hugeBytes) / kHugePage * kHugePage, MADV_HUGEPAGE);
  return {begin, [base, length](std::byte*) { ::munmap(base, length); }};
}

}  // namespace halyard::cpudriver
