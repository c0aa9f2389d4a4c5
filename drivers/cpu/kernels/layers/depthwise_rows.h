// The innermost part of depthwise convolutions: output positions side by side.
// Thread safety: pure functions.
// Ownership: borrows everything.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/simd.h"

namespace halyard::cpudriver {

// Positions p = 0 .. count - 1, each with all channels:
// out[p][c] = clamp(bias[c] + sum over taps t of taps[t][p * step + c] * weights[t][c])
struct FloatDepthwiseRow {
  const float* const* taps;  // where each tap of the first position reads its first channel
  size_t tapCount;
  size_t step;    // elements from a position to the next
  size_t column;  // elements from one column of the filter to the next; only for isGrid3x3
  // The taps are 3 lines of 3 cells that lie `column` apart.
  bool isGrid3x3;
  const float* weights;  // [taps][channels rounded up to weightStride]
  size_t weightStride;   // elements
  const float* bias;     // [channels], padded like a tap's weights
  float low;
  float high;
  size_t channels;
  size_t count;
  float* out;  // [count][channels]
};
using FloatDepthwise = void (*)(const FloatDepthwiseRow& row);
// With the vectors of `level`.
FloatDepthwise floatDepthwise(ops::SimdLevel level);

// Lines of positions of a filter of 3 x 3 over one image. With a dilation of columns, the positions
// are a dilation apart. Outside the image all values are 0. Only lines, and the columns that the
// two flags name, may be outside.
struct FloatSlice {
  const float* middle;   // first position's middle column, first line of the image
  size_t column;         // elements from one column of the filter to the next
  bool isStepTwo;        // whether positions are two columns apart instead of one
  bool hasFirst;         // whether the first position's first column is inside
  bool hasLast;          // whether the last position's last column is
  const float* zeros;    // as many as there are channels, in whole vectors
  size_t line;           // elements from one line of the image to the next
  int64_t height;        // of the image
  int64_t top;           // where the first line's first tap is; negative above the image
  int64_t dilation;      // of the filter's lines
  int64_t lineStep;      // from a line of positions to the next, in lines of the image
  const float* weights;  // [9][weightStride], readable in whole vectors
  size_t weightStride;
  const float* bias;  // [channels], readable in whole vectors
  float low;
  float high;
  size_t channels;
  size_t count;  // of positions in a line
  size_t lines;  // of positions
  float* out;
  size_t outStep;  // elements from a position to the next
  size_t outLine;  // elements from a line to the next
};
struct FloatSlices {
  void (*compute)(const FloatSlice& slice);
  size_t channels;  // of a slice, at most
};
// With the vectors of `level`.
FloatSlices floatSlices(ops::SimdLevel level);

}  // namespace halyard::cpudriver
