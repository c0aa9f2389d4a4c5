// The innermost part of products of float matrices: some rows times one panel of columns.
// Thread safety: pure functions. Ownership: borrows everything.
#pragma once

#include <array>
#include <cstddef>

#include "ops/simd.h"

namespace halyard::cpudriver {

// out[r][c] = clamp(bias[c] + sum over k of left[r][k] * packed[k][c]), where a row's values lie in
// pieces: value k is piece k / depth's value k % depth.
struct FloatTile {
  const float* left;        // the first row
  size_t leftStride;        // elements
  const float* packed;      // [pieces * depth][panel columns]
  const ptrdiff_t* pieces;  // where each begins, in elements from the row
  size_t pieceCount;
  size_t depth;         // of a piece
  const float* bias;    // [panel columns]
  const float* addend;  // [rows][columns], added before the clamp; may be null
  float low;            // the clamp keeps NaN
  float high;
  float* out;        // [rows][columns]
  size_t outStride;  // elements
  size_t columns;    // at most the panel's; what is packed beyond is not stored
};

using FloatMicro = void (*)(const FloatTile& tile);

struct FloatGemm {
  size_t panelColumns;
  size_t maxRows;  // at most 12
  // By rows, from 1 to maxRows.
  std::array<FloatMicro, 13> micro;
  std::array<FloatMicro, 13> narrow;  // for at most half of a panel's columns

  const std::array<FloatMicro, 13>& microsFor(size_t columns) const {
    return 2 * columns <= panelColumns ? narrow : micro;
  }
};

const FloatGemm& floatGemm(ops::SimdLevel level);

}  // namespace halyard::cpudriver
