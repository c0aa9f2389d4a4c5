// The innermost part of products of matrices in float16: some rows times one panel of columns. Sums
// of some terms are float16, and sums of these are float32.
// Thread safety: pure functions.
// Ownership: borrows everything.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/matrix/gemm_float.h"
#include "ops/simd.h"

namespace halyard::cpudriver {

// out[r][c] = clamp(bias[c] + sum over k of left[r][k] * weight of k and c + addend[r][c]).
struct HalfTile {
  const uint16_t* left;    // the first row, of bits of float16
  size_t leftStride;       // elements
  const uint16_t* packed;  // [pairs][2 * packed columns], made by packPair
  size_t pairs;
  // The next factors, to be fetched meanwhile (PanelFetch): `pairs` times `aheadStep` bytes. It
  // may be null.
  const std::byte* ahead;
  size_t aheadStep;
  const float* bias;  // [panel columns]
  TileResult result;
};

// Panels have as many columns as those of FloatGemm for the same instructions.
struct HalfGemm {
  Micros<HalfTile> wide;
  Micros<HalfTile> narrow;  // for at most half of a panel's columns
  // to[i] = from[i], rounded to nearest. Values beyond the range become infinite.
  void (*narrowRow)(const float* from, size_t count, uint16_t* to);
  // The weights of two values of a row, for all packed columns of a panel, rounded as narrowRow.
  void (*packPair)(const float* first, const float* second, size_t columns, uint16_t* to);
};

// Null if these instructions have no arithmetic of float16.
const HalfGemm* halfGemm(ops::SimdLevel level);

}  // namespace halyard::cpudriver
