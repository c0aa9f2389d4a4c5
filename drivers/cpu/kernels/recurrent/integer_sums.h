// Sums of products of bytes with weights of 16 bits, for the fixed-point LSTMs.
// Thread safety: a pure function.
// Ownership: none.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/simd.h"

namespace halyard::cpudriver {

// sums[c] = sum over k of (values[k] - zeroPoint) * weights[k][c], modulo 2^32. For ops::runBest.
template <typename T>
HALYARD_ALWAYS_INLINE void multiplyAll(const T* values, int32_t zeroPoint, size_t depth,
                                       const int16_t* weights, size_t columns,
                                       uint32_t* __restrict sums) {
  for (size_t c = 0; c < columns; ++c) sums[c] = 0;
  for (size_t k = 0; k < depth; ++k, weights += columns) {
    const int32_t value = values[k] - zeroPoint;
    for (size_t c = 0; c < columns; ++c) {
      sums[c] += static_cast<uint32_t>(value * weights[c]);
    }
  }
}

}  // namespace halyard::cpudriver
