// The innermost part of 8 bit depthwise convolutions: one line of the output.
// Thread safety: pure functions.
// Ownership: borrows everything.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/matrix/gemm_quant8.h"
#include "ops/simd.h"

namespace halyard::cpudriver {

// Channels are taken in blocks. The lines of a column of the filter are taken in units of as many
// bytes as an instruction multiplies at once. Each column of the image is interleaved to units
// once, for all positions that read it.
struct Quant8DepthwiseLine {
  // How many adjacent positions form one block, as if they were channels; 1 for no folding. It is
  // more than 1 only for a stride of 1. The lines then begin with the column under the first
  // position, and have values of a real 0 outside the image. Behind them is room for a block that
  // begins at the last column.
  size_t fold;
  // For each line of the filter, where the image's line begins that it lies on; null outside.
  const uint8_t* const* rows;
  const uint8_t* imageEnd;  // nothing is read from there on, unless `fold`
  size_t filterRows;
  size_t filterColumns;
  size_t dilation;      // of columns
  size_t stride;        // of columns
  int64_t firstColumn;  // of the image, under the first position's first column; may be negative
  size_t imageColumns;
  size_t channels;
  size_t count;  // of positions
  // Four vectors of packed factors for each block of channels (`fold` times as many), column of the
  // filter and unit of its lines. In each vector a unit belongs to a channel: see
  // interleavedChannel. Lines and channels that fill up are 0.
  const uint8_t* packed;
  // The same for each block and vector, one value for each channel.
  const int32_t* bias;
  const float* multiplier;
  uint8_t zero;  // the value of a real 0 in the image
  uint8_t flip;  // 0x80 where the bytes get the other signedness so; otherwise 0
  // Added to all weights: what their zero point takes away. 0 where factors are WIDE.
  int8_t weightOffset;
  Quant8Result result;
  uint8_t* out;     // [count][channels]
  uint8_t* buffer;  // of bufferBytes

  size_t extent() const { return (filterColumns - 1) * dilation + 1; }
};

struct Quant8Depthwise {
  Quant8Factors factors;  // the image's are unsigned, or signed with Quant8Factors::SAME
  size_t blockChannels;   // a multiple of 16
  void (*run)(const Quant8DepthwiseLine& line);

  size_t unitLines() const { return factors == Quant8Factors::WIDE ? 2 : 4; }
  // The units of a column of a block.
  size_t columnBytes(size_t filterRows) const {
    return (filterRows + unitLines() - 1) / unitLines() * 4 * blockChannels;
  }
  // At least one position has room in the buffer, and as many as the first-level cache holds.
  size_t bufferBytes(const Quant8DepthwiseLine& line) const {
    constexpr size_t kWanted = 16 * 1024;
    const size_t least = line.extent() * columnBytes(line.filterRows);
    return least > kWanted ? least : kWanted;
  }
};
// Null where the architecture has none.
const Quant8Depthwise* quant8Depthwise(ops::SimdLevel level);

// Within a block, the channel of lane `lane` of vector `vector` (0 to 3): what interleaving bytes
// makes of their order.
inline size_t interleavedChannel(size_t vector, size_t lane) {
  return lane / 4 * 16 + vector * 4 + lane % 4;
}

}  // namespace halyard::cpudriver
