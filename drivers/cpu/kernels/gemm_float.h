// The innermost part of products of float matrices: some rows times one panel of columns.
// Thread safety: pure functions. Ownership: borrows everything.
#pragma once

#include <cstddef>

#include "ops/simd.h"

namespace halyard::cpudriver {

// out[r][c] = clamp(bias[c] + sum over k of left[r][k] * packed[k][c])
struct FloatTile {
  const float* left;    // [rows][depth]
  size_t leftStride;    // elements
  const float* packed;  // [depth][panel columns]
  size_t depth;
  const float* bias;  // [panel columns]
  float low;          // the clamp keeps NaN
  float high;
  float* out;        // [rows][columns]
  size_t outStride;  // elements
  size_t columns;    // at most the panel's; what is packed beyond is not stored
};

struct FloatGemm {
  size_t panelColumns;
  size_t maxRows;                            // at most 12
  void (*micro[13])(const FloatTile& tile);  // by rows, from 1 to maxRows
};

const FloatGemm& floatGemm(ops::SimdLevel level);

}  // namespace halyard::cpudriver
