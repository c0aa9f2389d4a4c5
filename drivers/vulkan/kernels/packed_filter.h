// The packed form of filters and of the addends of sums, as shaders/product.comp reads them.
// Thread safety: pure functions. Ownership: none.
#pragma once

#include <cstdint>
#include <span>

#include "ops/operation.h"

namespace halyard::vulkandriver {

inline constexpr size_t kPackedChannels = 8;

// The values of a filter or a bias in the model.
struct RawValues {
  OperandType type;
  const void* data;
  int32_t zeroPoint;

  template <typename T>
  const T* as() const {
    return static_cast<const T*>(data);
  }
};
RawValues rawValues(const ops::Tensor& tensor);

// A filter as the model stores it: [channels][taps][depth].
struct FilterShape {
  size_t channels;
  size_t taps;
  size_t depth;
  size_t run = 4;  // values of a channel that are neighbours in the packed form: 4 or 16

  size_t blocks() const { return (channels + kPackedChannels - 1) / kPackedChannels; }
  size_t runs() const { return (depth + run - 1) / run; }  // of a tap
  size_t fours() const { return runs() * run / 4; }
};

// [blocks of channels][taps][runs of the depth][channels of a block][run]. Real weights become
// float32, or float16 with `halves`. Values behind the last channel or depth add nothing to a sum.
size_t packedFilterBytes(OperandType filter, const FilterShape& shape, bool halves = false);
void packFilter(const RawValues& filter, const FilterShape& shape, std::span<uint8_t> to,
                bool halves = false);

// A float32 or an int32 for each channel of all blocks.
inline size_t packedBiasBytes(const FilterShape& shape) {
  return shape.blocks() * kPackedChannels * 4;
}
void packBias(const RawValues& bias, size_t channels, std::span<uint8_t> to);
// For bytes: the device sums products of inputs with their zero point; the addend takes it away.
void packAddends(const RawValues& filter, const RawValues& bias, const FilterShape& shape,
                 int32_t inputZeroPoint, std::span<uint8_t> to);
// Whether no sum of products of bytes with its bias leaves 32 bits.
bool sumsFit(const ops::Tensor& bias, const FilterShape& shape);

}  // namespace halyard::vulkandriver
