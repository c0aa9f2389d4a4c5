// The innermost part of depthwise convolutions: output positions side by side.
// Thread safety: pure functions. Ownership: borrows everything.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/gemm_quant8.h"
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

// The same with 8 bits. Channels are taken in blocks of 64, and taps in groups of 4.
struct Quant8DepthwiseRow {
  const uint8_t* const* taps;
  size_t tapCount;
  size_t step;  // bytes
  // For each block and each group four vectors of 64 signed bytes, in each of which 4 bytes, one
  // for each tap, belong to a channel: see interleavedChannel. 0 for taps and channels that fill
  // up.
  const int8_t* packed;
  // The same for each block and vector of 16 channels, one value for each.
  const int32_t* bias;
  const float* multiplier;
  uint8_t flip;  // 0x80 for a signed input, whose bytes are made unsigned so; otherwise 0
  // Added to all weights: what their zero point takes away.
  int8_t weightOffset;
  Quant8Result result;
  bool isSigned;  // the results
  size_t channels;
  size_t count;
  uint8_t* out;  // [count][channels]
};
using Quant8Depthwise = void (*)(const Quant8DepthwiseRow& row);
// Null where the instructions are missing.
Quant8Depthwise quant8Depthwise(ops::SimdLevel level);
// Within a block, the channel of lane `lane` (0 to 15) of vector `vector` (0 to 3): what
// interleaving the bytes of four taps makes of their order.
inline size_t interleavedChannel(size_t vector, size_t lane) {
  return lane / 4 * 16 + vector * 4 + lane % 4;
}

}  // namespace halyard::cpudriver
