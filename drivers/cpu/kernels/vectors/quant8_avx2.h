// Vectors of bytes and of their products for AVX2, and for AVX-VNNI, which has all of it and
// multiplies bytes: see quant8_vectors.h.
// Thread safety: pure functions, values.
// Ownership: none.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstring>

#include "kernels/vectors/float_vectors.h"
#include "kernels/vectors/quant8_result.h"
#include "ops/small_copy.h"

namespace halyard::cpudriver::avx2 {
#define HALYARD_AVX2 HALYARD_TARGET_AVX2 HALYARD_ALWAYS_INLINE

inline constexpr size_t kIntLanes = 8;
inline constexpr size_t kQuant8Rows = 6;
inline constexpr size_t kQuant8HalfRows = 6;
inline constexpr Quant8Factors kFactors = Quant8Factors::WIDE;

using Ints = __m256i;
using Sums = __m256i;
using Block = __m256i;
using Shorts = __m256i;

HALYARD_AVX2 Ints loadInts(const void* from) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}
// Signed bytes as values of 16 bits.
HALYARD_AVX2 Ints loadWidened(const void* from) {
  return _mm256_cvtepi8_epi16(_mm_loadu_si128(static_cast<const __m128i*>(from)));
}
HALYARD_AVX2 void storeInts(void* to, Ints v) { _mm256_storeu_si256(static_cast<__m256i*>(to), v); }
HALYARD_AVX2 Ints fillInts(int32_t value) { return _mm256_set1_epi32(value); }
HALYARD_AVX2 Ints addInts(Ints a, Ints b) { return _mm256_add_epi32(a, b); }
HALYARD_AVX2 Ints broadcastUnit(const void* from) {
  int32_t unit;
  std::memcpy(&unit, from, sizeof unit);
  return _mm256_set1_epi32(unit);
}

HALYARD_AVX2 Sums startSums(const int32_t* from) { return loadInts(from); }
HALYARD_AVX2 Ints finishSums(Sums sums) { return sums; }
// vpmaddubsw would multiply bytes, but saturates the sums of two products.
template <bool kSignedLeft>
HALYARD_AVX2 Sums addProducts(Sums sums, Ints left, Ints packed) {
  return _mm256_add_epi32(sums, _mm256_madd_epi16(left, packed));
}

HALYARD_AVX2 Block loadBlock(const uint8_t* from) { return loadInts(from); }
HALYARD_AVX2 Block loadFirstBytes(const uint8_t* from, size_t count) {
  alignas(32) std::byte bytes[sizeof(Block)] = {};
  ops::copySmall<sizeof(Block) - 1>(bytes, reinterpret_cast<const std::byte*>(from), count);
  return loadInts(bytes);
}
HALYARD_AVX2 Block fillBlock(uint8_t byte) { return _mm256_set1_epi8(static_cast<char>(byte)); }
HALYARD_AVX2 Block flipBlock(Block block, Block flip) { return _mm256_xor_si256(block, flip); }
HALYARD_AVX2 Ints asUnits(Block block) { return block; }
HALYARD_AVX2 void makeUnits(const Block* taps, Ints* units) {
  const Block zero = _mm256_setzero_si256();
  const Block low = _mm256_unpacklo_epi8(taps[0], taps[1]);
  const Block high = _mm256_unpackhi_epi8(taps[0], taps[1]);
  units[0] = _mm256_unpacklo_epi8(low, zero);
  units[1] = _mm256_unpackhi_epi8(low, zero);
  units[2] = _mm256_unpacklo_epi8(high, zero);
  units[3] = _mm256_unpackhi_epi8(high, zero);
}

struct Scales {
  __m256 first;
  __m256 second;
};
HALYARD_AVX2 Scales loadScales(const float* from) {
  return {_mm256_loadu_ps(from), _mm256_loadu_ps(from + kIntLanes)};
}

class Narrower {
 public:
  HALYARD_AVX2 explicit Narrower(const Quant8Result& result)
      : zeroPoint_(_mm256_set1_epi16(static_cast<int16_t>(result.zeroPoint))),
        low_(_mm256_set1_epi16(static_cast<int16_t>(result.low))),
        high_(_mm256_set1_epi16(static_cast<int16_t>(result.high))) {}

  HALYARD_AVX2 Shorts shorts(Ints first, Ints second, const Scales& scales) const {
    const __m256i units =
        _mm256_packs_epi32(round(first, scales.first), round(second, scales.second));
    const __m256i values = _mm256_adds_epi16(units, zeroPoint_);
    return _mm256_min_epi16(_mm256_max_epi16(values, low_), high_);
  }
  HALYARD_AVX2 void storeRow(uint8_t* to, Shorts values) const {
    const __m256i low = _mm256_and_si256(values, _mm256_set1_epi16(0xff));
    const __m128i bytes =
        _mm_packus_epi16(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes);
  }
  HALYARD_AVX2 void storePartOfRow(uint8_t* to, Shorts values, size_t count) const {
    uint8_t kept[2 * kIntLanes];
    storeRow(kept, values);
    ops::copySmall<sizeof kept - 1>(reinterpret_cast<std::byte*>(to),
                                    reinterpret_cast<const std::byte*>(kept), count);
  }
  // Of one vector of sums.
  HALYARD_AVX2 void storeHalfRow(uint8_t* to, Ints sums, const Scales& scales) const {
    const __m256i units = round(sums, scales.first);
    const __m128i values = _mm_adds_epi16(
        _mm_packs_epi32(_mm256_castsi256_si128(units), _mm256_extracti128_si256(units, 1)),
        _mm256_castsi256_si128(zeroPoint_));
    const __m128i limited = _mm_min_epi16(_mm_max_epi16(values, _mm256_castsi256_si128(low_)),
                                          _mm256_castsi256_si128(high_));
    const __m128i low = _mm_and_si128(limited, _mm_set1_epi16(0xff));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_packus_epi16(low, low));
  }
  HALYARD_AVX2 void storePartOfHalfRow(uint8_t* to, Ints sums, const Scales& scales,
                                       size_t count) const {
    uint8_t kept[kIntLanes];
    storeHalfRow(kept, sums, scales);
    std::memcpy(to, kept, count);
  }
  HALYARD_AVX2 void storeHalfRows(uint8_t* to, uint8_t* next, Ints sums, Ints nextSums,
                                  const Scales& scales) const {
    storeHalfRow(to, sums, scales);
    storeHalfRow(next, nextSums, scales);
  }
  HALYARD_AVX2 void storeBlock(uint8_t* to, Shorts low, Shorts high, size_t count) const {
    const __m256i mask = _mm256_set1_epi16(0xff);
    const __m256i bytes =
        _mm256_packus_epi16(_mm256_and_si256(low, mask), _mm256_and_si256(high, mask));
    if (count >= 4 * kIntLanes) {
      storeInts(to, bytes);
    } else {
      alignas(32) std::byte kept[sizeof bytes];
      storeInts(kept, bytes);
      ops::copySmall<sizeof kept - 1>(reinterpret_cast<std::byte*>(to), kept, count);
    }
  }

 private:
  HALYARD_AVX2 static __m256i round(__m256i sums, __m256 scale) {
    return _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_cvtepi32_ps(sums), scale));
  }

  __m256i zeroPoint_;
  __m256i low_;
  __m256i high_;
};

#undef HALYARD_AVX2
}  // namespace halyard::cpudriver::avx2

namespace halyard::cpudriver::avxvnni {
#define HALYARD_AVX_VNNI HALYARD_TARGET_AVX_VNNI HALYARD_ALWAYS_INLINE

using avx2::addInts;
using avx2::asUnits;
using avx2::Block;
using avx2::broadcastUnit;
using avx2::clamp;
using avx2::fill;
using avx2::fillBlock;
using avx2::fillInts;
using avx2::finishSums;
using avx2::flipBlock;
using avx2::Ints;
using avx2::kIntLanes;
using avx2::kLanes;
using avx2::kQuant8HalfRows;
using avx2::kQuant8Rows;
using avx2::load;
using avx2::loadBlock;
using avx2::loadFirst;
using avx2::loadFirstBytes;
using avx2::loadInts;
using avx2::loadScales;
using avx2::multiplyAdd;
using avx2::Narrower;
using avx2::Scales;
using avx2::Shorts;
using avx2::startSums;
using avx2::store;
using avx2::storeFirst;
using avx2::storeInts;
using avx2::Sums;
using avx2::Vector;

inline constexpr Quant8Factors kFactors = Quant8Factors::OPPOSITE;

template <bool kSignedLeft>
HALYARD_AVX_VNNI Sums addProducts(Sums sums, Ints left, Ints packed) {
  return kSignedLeft ? _mm256_dpbusd_avx_epi32(sums, packed, left)
                     : _mm256_dpbusd_avx_epi32(sums, left, packed);
}
HALYARD_AVX_VNNI void multiplyFour(const Sums* sums, int32_t factor, int32_t* to) {
  const Ints all =
      _mm256_hadd_epi32(_mm256_hadd_epi32(sums[0], sums[1]), _mm256_hadd_epi32(sums[2], sums[3]));
  const __m128i totals =
      _mm_add_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_mullo_epi32(totals, _mm_set1_epi32(factor)));
}
HALYARD_AVX_VNNI void makeUnits(const Block* taps, Ints* units) {
  const Block low01 = _mm256_unpacklo_epi8(taps[0], taps[1]);
  const Block high01 = _mm256_unpackhi_epi8(taps[0], taps[1]);
  const Block low23 = _mm256_unpacklo_epi8(taps[2], taps[3]);
  const Block high23 = _mm256_unpackhi_epi8(taps[2], taps[3]);
  units[0] = _mm256_unpacklo_epi16(low01, low23);
  units[1] = _mm256_unpackhi_epi16(low01, low23);
  units[2] = _mm256_unpacklo_epi16(high01, high23);
  units[3] = _mm256_unpackhi_epi16(high01, high23);
}

#undef HALYARD_AVX_VNNI
}  // namespace halyard::cpudriver::avxvnni
#endif
