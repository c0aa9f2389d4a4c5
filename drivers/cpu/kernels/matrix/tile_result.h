// TileResult: where the results of a tile of float sums go.
// Thread safety: a value.
// Ownership: borrows everything.
#pragma once

#include <cstddef>

namespace halyard::cpudriver {

// The way from a tile's sums to its results.
struct TileResult {
  const float* addend;  // [rows][columns], added before the clamp; may be null
  float low;            // the clamp keeps NaN
  float high;
  float* out;        // [rows][columns]
  size_t outStride;  // elements
  size_t columns;    // at most the panel's, but see FloatGemm; others are not stored
};

}  // namespace halyard::cpudriver
