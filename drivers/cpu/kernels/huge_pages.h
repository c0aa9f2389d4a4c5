// Large memory in huge pages, where the system has them: one page fault for 2 MiB, and few misses
// of the TLB where it is streamed. Thread safety: pure functions. Ownership: the result owns its
// memory.
#pragma once

#include <cstddef>
#include <memory>

namespace halyard::cpudriver {

// Of x86-64, and of aarch64 with pages of 4 KiB.
inline constexpr size_t kHugePage = size_t{2} << 20;

// Memory of zeros that takes pages where it is touched: huge ones in the first `hugeBytes` as far
// as whole ones fit. Null where there is none.
std::shared_ptr<std::byte> mapPages(size_t bytes, size_t hugeBytes);

}  // namespace halyard::cpudriver
