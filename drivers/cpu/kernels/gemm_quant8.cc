// The 8 bit micro kernels, for AVX-512 with VNNI.
#include "kernels/gemm_quant8.h"

#include <cstring>
#include <utility>

#include "kernels/float_vectors.h"
#include "kernels/quant8_vectors.h"

namespace halyard::cpudriver {

#if defined(__x86_64__)
namespace avx512 {
namespace {

HALYARD_TARGET_AVX512 HALYARD_ALWAYS_INLINE __m512i broadcastUnit(const uint8_t* from) {
  int32_t unit;
  std::memcpy(&unit, from, sizeof unit);
  return _mm512_set1_epi32(unit);
}

template <bool kSignedLeft>
HALYARD_TARGET_AVX512 HALYARD_ALWAYS_INLINE __m512i addProducts(__m512i sum, __m512i left,
                                                                __m512i packed) {
  return kSignedLeft ? _mm512_dpbusd_epi32(sum, packed, left)
                     : _mm512_dpbusd_epi32(sum, left, packed);
}

// Rows are reached from every third pointer, so that four registers hold them all.
template <size_t kRows, bool kSignedLeft>
HALYARD_TARGET_AVX512 void quant8Micro(const Quant8Tile& tile) {
  constexpr size_t kPointers = (kRows + 2) / 3;
  const size_t stride = tile.leftStride;
  const uint8_t* left[kPointers];
  HALYARD_KERNEL_UNROLL
  for (size_t i = 0; i < kPointers; ++i) left[i] = tile.left + 3 * i * stride;
  const uint8_t* packed = tile.packed;
  __m512i sums[kRows][2];
  HALYARD_KERNEL_UNROLL
  for (size_t r = 0; r < kRows; ++r) {
    sums[r][0] = _mm512_loadu_si512(tile.bias);
    sums[r][1] = _mm512_loadu_si512(tile.bias + 16);
  }
  for (size_t unit = 0; unit < tile.units; ++unit) {
    const __m512i first = _mm512_loadu_si512(packed);
    const __m512i second = _mm512_loadu_si512(packed + 64);
    packed += 128;
    HALYARD_KERNEL_UNROLL
    for (size_t r = 0; r < kRows; ++r) {
      const __m512i x = broadcastUnit(left[r / 3] + r % 3 * stride);
      sums[r][0] = addProducts<kSignedLeft>(sums[r][0], x, first);
      sums[r][1] = addProducts<kSignedLeft>(sums[r][1], x, second);
    }
    HALYARD_KERNEL_UNROLL
    for (size_t i = 0; i < kPointers; ++i) left[i] += 4;
  }
  const Narrower narrower(tile.multiplier, tile.result);
  const __mmask32 columns = ~__mmask32{0} >> (32 - tile.columns);
  uint8_t* out = tile.out;
  HALYARD_KERNEL_UNROLL
  for (size_t r = 0; r < kRows; ++r) {
    if (tile.rowTerms != nullptr) {
      const __m512i term = _mm512_set1_epi32(tile.rowTerms[r]);
      sums[r][0] = _mm512_add_epi32(sums[r][0], term);
      sums[r][1] = _mm512_add_epi32(sums[r][1], term);
    }
    _mm256_mask_storeu_epi8(out, columns, narrower.bytes(sums[r][0], sums[r][1]));
    out += tile.outStride;
  }
}

template <bool kSignedLeft>
HALYARD_TARGET_AVX512 HALYARD_ALWAYS_INLINE int32_t sumRow(const uint8_t* row, size_t depth) {
  const __m512i ones = _mm512_set1_epi8(1);
  __m512i sum = _mm512_setzero_si512();
  size_t k = 0;
  for (; k + 64 <= depth; k += 64) {
    sum = addProducts<kSignedLeft>(sum, _mm512_loadu_si512(row + k), ones);
  }
  if (k < depth) {
    const __mmask64 rest = ~__mmask64{0} >> (64 - (depth - k));
    sum = addProducts<kSignedLeft>(sum, _mm512_maskz_loadu_epi8(rest, row + k), ones);
  }
  return _mm512_reduce_add_epi32(sum);
}

HALYARD_TARGET_AVX512 void sumRows(const uint8_t* left, size_t stride, size_t depth, size_t rows,
                                   bool isSigned, int32_t factor, int32_t* sums) {
  for (size_t r = 0; r < rows; ++r, left += stride) {
    const int32_t sum = isSigned ? sumRow<true>(left, depth) : sumRow<false>(left, depth);
    sums[r] = static_cast<int32_t>(static_cast<uint32_t>(sum) * static_cast<uint32_t>(factor));
  }
}

template <bool kSignedLeft, size_t... kRows>
constexpr Quant8Gemm withMicros(Quant8Gemm gemm, std::index_sequence<kRows...>) {
  auto* const micros = kSignedLeft ? gemm.signedLeft : gemm.unsignedLeft;
  ((micros[kRows + 1] = quant8Micro<kRows + 1, kSignedLeft>), ...);
  return gemm;
}

constexpr Quant8Gemm makeQuant8Gemm() {
  Quant8Gemm gemm = {32, kMaxRows, {}, {}, sumRows};
  gemm = withMicros<false>(gemm, std::make_index_sequence<kMaxRows>());
  return withMicros<true>(gemm, std::make_index_sequence<kMaxRows>());
}

constexpr Quant8Gemm kQuant8Gemm = makeQuant8Gemm();

}  // namespace
}  // namespace avx512
#endif

const Quant8Gemm* quant8Gemm(ops::SimdLevel level) {
#if defined(__x86_64__)
  if (level == ops::SimdLevel::AVX512) return &avx512::kQuant8Gemm;
#endif
  (void)level;
  return nullptr;
}

}  // namespace halyard::cpudriver
