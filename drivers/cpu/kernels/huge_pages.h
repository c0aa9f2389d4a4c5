// Large memory in huge pages, where the system has them: one page fault for 2 MiB, and few misses
// of the TLB in streamed reads.
// Thread safety: pure functions.
// Ownership: the result owns its memory.
#pragma once

#include <cstddef>
#include <memory>

namespace halyard::cpudriver {

// Of x86-64, and of aarch64 with pages of 4 KiB.
inline constexpr size_t kHugePage = size_t{2} << 20;

// Memory of zeros that takes pages at the first access. The pages of the first `hugeBytes` are
// huge, as far as whole ones fit. Null if the system has no memory.
std::shared_ptr<std::byte> mapPages(size_t bytes, size_t hugeBytes);

}  // namespace halyard::cpudriver
