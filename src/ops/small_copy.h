// Copies some tens of bytes without a call of memcpy, which the compiler makes for an unknown
// length.
// Thread safety: a pure function.
// Ownership: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "ops/simd.h"

namespace halyard::ops {

// At most `kMost` bytes. The ranges must not overlap.
template <size_t kMost = SIZE_MAX>
HALYARD_ALWAYS_INLINE void copySmall(std::byte* to, const std::byte* from, size_t bytes) {
  // Two copies of a constant length may overlap, and so cover every length in between.
  if (kMost > 64 && bytes > 64) {
    std::memcpy(to, from, bytes);
  } else if (kMost >= 32 && bytes >= 32) {
    std::memcpy(to, from, 32);
    std::memcpy(to + bytes - 32, from + bytes - 32, 32);
  } else if (kMost >= 16 && bytes >= 16) {
    std::memcpy(to, from, 16);
    std::memcpy(to + bytes - 16, from + bytes - 16, 16);
  } else if (bytes >= 8) {
    std::memcpy(to, from, 8);
    std::memcpy(to + bytes - 8, from + bytes - 8, 8);
  } else if (bytes >= 4) {
    std::memcpy(to, from, 4);
    std::memcpy(to + bytes - 4, from + bytes - 4, 4);
  } else {
    for (size_t i = 0; i < bytes; ++i) to[i] = from[i];
  }
}

}  // namespace halyard::ops
