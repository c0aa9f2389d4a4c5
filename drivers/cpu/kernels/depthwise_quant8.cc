// 8 bit depthwise rows for AVX-512 with VNNI: the bytes of four taps are interleaved, so that one
// instruction multiplies and adds all four for 16 channels.
#include "kernels/depthwise_rows.h"
#include "kernels/float_vectors.h"
#include "kernels/quant8_vectors.h"

namespace halyard::cpudriver {

#if defined(__x86_64__)
namespace avx512 {
namespace {

constexpr size_t kBlock = 64;

// What a block's positions have in common.
struct Block {
  const Quant8DepthwiseRow& row;
  size_t channel;
  __mmask64 mask;  // of the channels that there are
  const int8_t* packed;
  __m512i flip;
  __m512i offset;
  bool hasOffset;
};

HALYARD_TARGET_AVX512 HALYARD_ALWAYS_INLINE __m512i loadTap(const Block& block, size_t tap,
                                                            size_t offset) {
  const __m512i bytes = _mm512_maskz_loadu_epi8(block.mask, block.row.taps[tap] + offset);
  return _mm512_xor_si512(bytes, block.flip);
}

// Adds the products of four taps to the sums of the block's 64 channels.
HALYARD_TARGET_AVX512 HALYARD_ALWAYS_INLINE void addGroup(const Block& block, const __m512i* taps,
                                                          const int8_t* packed, __m512i* sums) {
  const __m512i low01 = _mm512_unpacklo_epi8(taps[0], taps[1]);
  const __m512i high01 = _mm512_unpackhi_epi8(taps[0], taps[1]);
  const __m512i low23 = _mm512_unpacklo_epi8(taps[2], taps[3]);
  const __m512i high23 = _mm512_unpackhi_epi8(taps[2], taps[3]);
  const __m512i units[4] = {
      _mm512_unpacklo_epi16(low01, low23), _mm512_unpackhi_epi16(low01, low23),
      _mm512_unpacklo_epi16(high01, high23), _mm512_unpackhi_epi16(high01, high23)};
  HALYARD_KERNEL_UNROLL
  for (size_t v = 0; v < 4; ++v) {
    sums[v] = _mm512_dpbusd_epi32(sums[v], units[v], _mm512_loadu_si512(packed + v * kBlock));
    if (block.hasOffset) sums[v] = _mm512_dpbusd_epi32(sums[v], units[v], block.offset);
  }
}

HALYARD_TARGET_AVX512 HALYARD_ALWAYS_INLINE void storeBlock(const Block& block,
                                                            const Requantizer* requantizers,
                                                            const __m512i* sums, uint8_t* out) {
  const __m512i first =
      _mm512_packs_epi32(requantizers[0].values(sums[0]), requantizers[1].values(sums[1]));
  const __m512i second =
      _mm512_packs_epi32(requantizers[2].values(sums[2]), requantizers[3].values(sums[3]));
  const __m512i bytes =
      block.row.isSigned ? _mm512_packs_epi16(first, second) : _mm512_packus_epi16(first, second);
  _mm512_mask_storeu_epi8(out + block.channel, block.mask, bytes);
}

// kTaps: how many there are; 0 for any number.
template <size_t kTaps>
HALYARD_TARGET_AVX512 HALYARD_ALWAYS_INLINE void runBlock(const Block& block, size_t index) {
  const Quant8DepthwiseRow& row = block.row;
  const size_t tapCount = kTaps > 0 ? kTaps : row.tapCount;
  const int32_t* const bias = row.bias + index * kBlock;
  const float* const multiplier = row.multiplier + index * kBlock;
  const Requantizer requantizers[4] = {{multiplier, row.result},
                                       {multiplier + 16, row.result},
                                       {multiplier + 32, row.result},
                                       {multiplier + 48, row.result}};
  size_t offset = block.channel;
  for (size_t p = 0; p < row.count; ++p, offset += row.step) {
    __m512i sums[4];
    HALYARD_KERNEL_UNROLL
    for (size_t v = 0; v < 4; ++v) sums[v] = _mm512_loadu_si512(bias + 16 * v);
    HALYARD_KERNEL_UNROLL
    for (size_t t = 0; t < tapCount; t += 4) {
      __m512i taps[4];
      HALYARD_KERNEL_UNROLL
      for (size_t i = 0; i < 4; ++i) {
        taps[i] = t + i < tapCount ? loadTap(block, t + i, offset) : _mm512_setzero_si512();
      }
      addGroup(block, taps, block.packed + t * kBlock, sums);
    }
    storeBlock(block, requantizers, sums, row.out + p * row.channels);
  }
}

HALYARD_TARGET_AVX512 void quant8DepthwiseRow(const Quant8DepthwiseRow& row) {
  const size_t groups = (row.tapCount + 3) / 4;
  for (size_t index = 0; index * kBlock < row.channels; ++index) {
    const size_t channel = index * kBlock;
    const size_t channels = row.channels - channel < kBlock ? row.channels - channel : kBlock;
    const Block block = {row,
                         channel,
                         ~__mmask64{0} >> (kBlock - channels),
                         row.packed + index * groups * 4 * kBlock,
                         _mm512_set1_epi8(static_cast<char>(row.flip)),
                         _mm512_set1_epi8(row.weightOffset),
                         row.weightOffset != 0};
    if (row.tapCount == 9) {
      runBlock<9>(block, index);
    } else {
      runBlock<0>(block, index);
    }
  }
}

}  // namespace
}  // namespace avx512
#endif

Quant8Depthwise quant8Depthwise(ops::SimdLevel level) {
#if defined(__x86_64__)
  if (level == ops::SimdLevel::AVX512) return avx512::quant8DepthwiseRow;
#endif
  (void)level;
  return nullptr;
}

}  // namespace halyard::cpudriver
