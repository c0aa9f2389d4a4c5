// The innermost part of depthwise convolutions: output positions side by side.
// Thread safety: pure functions. Ownership: borrows everything.
#pragma once

#include <cstddef>

#include "ops/simd.h"

namespace halyard::cpudriver {

// Positions p = 0 .. count - 1, each with all channels:
// out[p][c] = clamp(bias[c] + sum over taps t of taps[t][p * step + c] * weights[t][c])
struct FloatDepthwiseRow {
  const float* const* taps;  // where each tap of the first position reads its first channel
  size_t tapCount;
  size_t step;    // elements from a position to the next
  size_t column;  // elements from one column of the filter to the next, where isGrid
  // The taps are 3 lines of 3 cells that lie `column` apart.
  bool isGrid3x3;
  const float* weights;  // [taps][channels rounded up to weightStride]
  size_t weightStride;   // elements
  const float* bias;
  float low;
  float high;
  size_t channels;
  size_t count;
  float* out;  // [count][channels]
};
using FloatDepthwise = void (*)(const FloatDepthwiseRow& row);
FloatDepthwise floatDepthwise(ops::SimdLevel level);

// Lines of a filter of 3 x 3 over a strip: some channels of an image's lines, copied with their
// padding so that cells lie `cell` elements apart.
struct FloatStrip {
  const float* strip;    // the first tap of the first position
  size_t line;           // elements from one line of the filter to the next
  size_t column;         // elements from one column of the filter to the next
  size_t step;           // elements from a position to the next
  const float* weights;  // [9][weightStride]
  size_t weightStride;
  const float* bias;
  float low;
  float high;
  size_t channels;
  size_t count;  // of positions in a line
  float* out;
  size_t outStep;  // elements from a position to the next
  size_t lines;
  size_t lineStep;  // elements from what a line needs first to what the next one does
  size_t outLine;   // elements from a line to the next
};
struct FloatStrips {
  void (*compute)(const FloatStrip& strip);
  // `channels` values of each of `cells` cells, `step` elements apart, to cells `cell` apart.
  void (*copyCells)(const float* from, size_t step, size_t cells, size_t channels, float* to,
                    size_t cell);
};
const FloatStrips& floatStrips(ops::SimdLevel level);

}  // namespace halyard::cpudriver
