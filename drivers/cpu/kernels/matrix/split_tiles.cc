// A block's tiles lie behind each other: for each tile of columns its high parts, and its low
// parts.
#include "kernels/matrix/split_tiles.h"

#include "kernels/vectors/float_vectors.h"

namespace halyard::cpudriver {

#if defined(__x86_64__)
namespace {
using namespace avx512;  // NOLINT(google-build-using-namespace): as each_float_target.inc
#define HALYARD_KERNEL_TARGET HALYARD_TARGET_AMX
#include "kernels/matrix/tile_result.inc"

constexpr size_t kTileElements = kSplitDepth * TileSizes::kColumns;
using Sums = float[TileSizes::kMostRows][2 * TileSizes::kColumns];

// Adds the products of the tiles of rows, which are loaded, and the tiles of columns at `packed`.
// The second column is 2 * kTileElements further on.
template <bool kTwoRows, bool kTwoVectors>
HALYARD_KERNEL_TARGET HALYARD_ALWAYS_INLINE void addTileProducts() {
  _tile_dpbf16ps(0, 4, 6);
  if constexpr (kTwoRows) _tile_dpbf16ps(2, 5, 6);
  if constexpr (kTwoVectors) _tile_dpbf16ps(1, 4, 7);
  if constexpr (kTwoRows && kTwoVectors) _tile_dpbf16ps(3, 5, 7);
}

// Each of the three products of a block fetches its part of the next factors. Returns where the
// next one begins.
HALYARD_ALWAYS_INLINE const std::byte* fetchSome(const std::byte* ahead, size_t step) {
  HALYARD_KERNEL_UNROLL
  for (size_t i = 0; i < kSplitFetches / 3; ++i, ahead += step) __builtin_prefetch(ahead, 0, 2);
  return ahead;
}

template <bool kTwoVectors>
HALYARD_KERNEL_TARGET HALYARD_ALWAYS_INLINE void loadColumns(const uint16_t* packed) {
  constexpr long kPackedStride = 2 * TileSizes::kColumns * sizeof(uint16_t);
  _tile_loadd(6, packed, kPackedStride);
  if constexpr (kTwoVectors) _tile_loadd(7, packed + 2 * kTileElements, kPackedStride);
}
template <bool kTwoRows>
HALYARD_KERNEL_TARGET HALYARD_ALWAYS_INLINE void loadRows(const uint16_t* left, long stride,
                                                          size_t second) {
  _tile_loadd(4, left, stride);
  if constexpr (kTwoRows) _tile_loadd(5, left + second, stride);
}

template <bool kTwoRows, bool kTwoVectors>
HALYARD_KERNEL_TARGET HALYARD_ALWAYS_INLINE void sumTiles(const SplitTile& tile,
                                                          const TileSizes& tiles, Sums& sums) {
  constexpr long kSumsStride = sizeof(sums[0]);
  const size_t first = tiles.first();
  const size_t second = first * tile.leftStride;
  const auto stride = static_cast<long>(tile.leftStride * sizeof(uint16_t));
  // All rows of sums begin with the same line.
  _tile_loadd(0, tile.bias, 0);
  if constexpr (kTwoVectors) _tile_loadd(1, tile.bias + TileSizes::kColumns, 0);
  if constexpr (kTwoRows) _tile_loadd(2, tile.bias, 0);
  if constexpr (kTwoRows && kTwoVectors) _tile_loadd(3, tile.bias + TileSizes::kColumns, 0);
  const uint16_t* high = tile.left;
  const uint16_t* low = tile.left + tile.blocks * kSplitDepth;
  const uint16_t* packed = tile.packed;
  const bool hasAhead = tile.ahead != nullptr;
  const auto* ahead = hasAhead ? tile.ahead : reinterpret_cast<const std::byte*>(packed);
  const size_t aheadStep = hasAhead ? tile.aheadStep : 0;
  for (size_t block = 0; block < tile.blocks; ++block) {
    loadRows<kTwoRows>(low, stride, second);
    loadColumns<kTwoVectors>(packed);
    addTileProducts<kTwoRows, kTwoVectors>();
    ahead = fetchSome(ahead, aheadStep);
    loadRows<kTwoRows>(high, stride, second);
    addTileProducts<kTwoRows, kTwoVectors>();
    ahead = fetchSome(ahead, aheadStep);
    loadColumns<kTwoVectors>(packed + kTileElements);
    addTileProducts<kTwoRows, kTwoVectors>();
    ahead = fetchSome(ahead, aheadStep);
    high += kSplitDepth;
    low += kSplitDepth;
    packed += (kTwoVectors ? 4 : 2) * kTileElements;
  }
  _tile_stored(0, sums[0], kSumsStride);
  if constexpr (kTwoVectors) _tile_stored(1, sums[0] + TileSizes::kColumns, kSumsStride);
  if constexpr (kTwoRows) _tile_stored(2, sums[first], kSumsStride);
  if constexpr (kTwoRows && kTwoVectors) {
    _tile_stored(3, sums[first] + TileSizes::kColumns, kSumsStride);
  }
}

template <bool kTwoVectors>
HALYARD_KERNEL_TARGET void multiplySplit(const SplitTile& tile, const TileSizes& tiles) {
  constexpr size_t kVectors = kTwoVectors ? 2 : 1;
  alignas(64) Sums sums;
  if (tiles.second() == 0) {
    sumTiles<false, kTwoVectors>(tile, tiles, sums);
  } else {
    sumTiles<true, kTwoVectors>(tile, tiles, sums);
  }
  TileResult result = tile.result;
  result.out += tile.skipped * result.outStride;
  if (result.addend != nullptr) result.addend += tile.skipped * result.outStride;
  for (size_t row = tile.skipped; row < tiles.rows; ++row) {
    Vector total[1][kVectors];
    for (size_t v = 0; v < kVectors; ++v) total[0][v] = load(sums[row] + v * kLanes);
    finishTile<1, kVectors>(result, total);
    result.out += result.outStride;
    if (result.addend != nullptr) result.addend += result.outStride;
  }
}

// The parts of 16 floats, each in the upper half of 32 bits. The lower half has something else. The
// high part is cut off, so that it is never infinite. The low part is rounded.
HALYARD_KERNEL_TARGET HALYARD_ALWAYS_INLINE __m512i highOf(Vector x) {
  return _mm512_castps_si512(x);
}
HALYARD_KERNEL_TARGET HALYARD_ALWAYS_INLINE __m512i lowOf(Vector x) {
  const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xffff0000));
  const Vector high = _mm512_castsi512_ps(_mm512_and_si512(_mm512_castps_si512(x), upper));
  return _mm512_add_epi32(_mm512_castps_si512(x - high), _mm512_set1_epi32(0x8000));
}

HALYARD_KERNEL_TARGET void splitRow(const float* from, size_t count, uint16_t* high,
                                    uint16_t* low) {
  constexpr size_t kStep = 2 * kLanes;
  // The upper halves of two vectors.
  alignas(64) uint16_t places[kStep];
  for (size_t i = 0; i < kStep; ++i) places[i] = static_cast<uint16_t>(2 * i + 1);
  const __m512i upper = _mm512_load_si512(places);
  for (size_t i = 0; i < count; i += kStep) {
    const size_t left = count - i;
    const auto mask = left >= kStep ? ~__mmask32{0} : (__mmask32{1} << left) - 1;
    const Vector a = _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), from + i);
    const Vector b =
        _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask >> kLanes), from + i + kLanes);
    _mm512_mask_storeu_epi16(high + i, mask,
                             _mm512_permutex2var_epi16(highOf(a), upper, highOf(b)));
    _mm512_mask_storeu_epi16(low + i, mask, _mm512_permutex2var_epi16(lowOf(a), upper, lowOf(b)));
  }
}

// The upper halves of both: `first` comes below.
HALYARD_KERNEL_TARGET HALYARD_ALWAYS_INLINE __m512i besideEachOther(__m512i first, __m512i second) {
  return _mm512_mask_blend_epi16(0xaaaaaaaa, _mm512_srli_epi32(first, 16), second);
}

HALYARD_KERNEL_TARGET void packBlock(const float* from, size_t columns, uint16_t* to) {
  for (size_t column = 0; column < columns; column += kLanes, to += 2 * kTileElements) {
    for (size_t k = 0; k < kSplitDepth; k += 2) {
      const Vector first = load(from + k * columns + column);
      const Vector second = load(from + (k + 1) * columns + column);
      uint16_t* const place = to + k * kLanes;
      _mm512_storeu_si512(place, besideEachOther(highOf(first), highOf(second)));
      _mm512_storeu_si512(place + kTileElements, besideEachOther(lowOf(first), lowOf(second)));
    }
  }
}
#undef HALYARD_KERNEL_TARGET
}  // namespace

const SplitGemm kSplitGemm = {multiplySplit<true>, multiplySplit<false>, splitRow, packBlock};
#else
const SplitGemm kSplitGemm = {};
#endif

}  // namespace halyard::cpudriver
