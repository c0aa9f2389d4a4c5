// Vectors of bytes and of their products for AVX-512 with VNNI: see quant8_vectors.h.
// Thread safety: pure functions, values.
// Ownership: none.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstring>

#include "kernels/vectors/quant8_result.h"

namespace halyard::cpudriver::avx512 {
#define HALYARD_AVX512 HALYARD_TARGET_AVX512 HALYARD_ALWAYS_INLINE

inline constexpr size_t kIntLanes = 16;
inline constexpr size_t kQuant8Rows = 12;
inline constexpr size_t kQuant8HalfRows = 16;
inline constexpr Quant8Factors kFactors = Quant8Factors::OPPOSITE;

using Ints = __m512i;
using Sums = __m512i;
using Block = __m512i;
using Shorts = __m512i;

HALYARD_AVX512 Ints loadInts(const void* from) { return _mm512_loadu_si512(from); }
HALYARD_AVX512 void storeInts(void* to, Ints v) { _mm512_storeu_si512(to, v); }
HALYARD_AVX512 Ints fillInts(int32_t value) { return _mm512_set1_epi32(value); }
HALYARD_AVX512 Ints addInts(Ints a, Ints b) { return _mm512_add_epi32(a, b); }
HALYARD_AVX512 Ints broadcastUnit(const void* from) {
  int32_t unit;
  std::memcpy(&unit, from, sizeof unit);
  return _mm512_set1_epi32(unit);
}

HALYARD_AVX512 Sums startSums(const int32_t* from) { return _mm512_loadu_si512(from); }
HALYARD_AVX512 Ints finishSums(Sums sums) { return sums; }
template <bool kSignedLeft>
HALYARD_AVX512 Sums addProducts(Sums sums, Ints left, Ints packed) {
  return kSignedLeft ? _mm512_dpbusd_epi32(sums, packed, left)
                     : _mm512_dpbusd_epi32(sums, left, packed);
}
HALYARD_AVX512 Ints addPairs(Ints a, Ints b) {
  return _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
}
HALYARD_AVX512 void multiplyFour(const Sums* sums, int32_t factor, int32_t* to) {
  const Ints first = addPairs(sums[0], sums[1]);
  const Ints second = addPairs(sums[2], sums[3]);
  const Ints all =
      _mm512_add_epi32(_mm512_unpacklo_epi64(first, second), _mm512_unpackhi_epi64(first, second));
  const __m256i half =
      _mm256_add_epi32(_mm512_castsi512_si256(all), _mm512_extracti64x4_epi64(all, 1));
  const __m128i totals =
      _mm_add_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_mullo_epi32(totals, _mm_set1_epi32(factor)));
}

HALYARD_AVX512 Block loadBlock(const uint8_t* from) { return _mm512_loadu_si512(from); }
HALYARD_AVX512 Block loadFirstBytes(const uint8_t* from, size_t count) {
  return _mm512_maskz_loadu_epi8(~__mmask64{0} >> (64 - count), from);
}
HALYARD_AVX512 Block fillBlock(uint8_t byte) { return _mm512_set1_epi8(static_cast<char>(byte)); }
HALYARD_AVX512 Block flipBlock(Block block, Block flip) { return _mm512_xor_si512(block, flip); }
HALYARD_AVX512 Ints asUnits(Block block) { return block; }
HALYARD_AVX512 void makeUnits(const Block* taps, Ints* units) {
  const Block low01 = _mm512_unpacklo_epi8(taps[0], taps[1]);
  const Block high01 = _mm512_unpackhi_epi8(taps[0], taps[1]);
  const Block low23 = _mm512_unpacklo_epi8(taps[2], taps[3]);
  const Block high23 = _mm512_unpackhi_epi8(taps[2], taps[3]);
  units[0] = _mm512_unpacklo_epi16(low01, low23);
  units[1] = _mm512_unpackhi_epi16(low01, low23);
  units[2] = _mm512_unpacklo_epi16(high01, high23);
  units[3] = _mm512_unpackhi_epi16(high01, high23);
}

struct Scales {
  __m512 first;
  __m512 second;
};
HALYARD_AVX512 Scales loadScales(const float* from) {
  return {_mm512_loadu_ps(from), _mm512_loadu_ps(from + kIntLanes)};
}

class Narrower {
 public:
  HALYARD_AVX512 explicit Narrower(const Quant8Result& result)
      : zeroPoint_(_mm512_set1_epi16(static_cast<int16_t>(result.zeroPoint))),
        low_(_mm512_set1_epi16(static_cast<int16_t>(result.low))),
        high_(_mm512_set1_epi16(static_cast<int16_t>(result.high))) {}

  HALYARD_AVX512 Shorts shorts(Ints first, Ints second, const Scales& scales) const {
    const __m512i units =
        _mm512_packs_epi32(round(first, scales.first), round(second, scales.second));
    const __m512i values = _mm512_adds_epi16(units, zeroPoint_);
    return _mm512_min_epi16(_mm512_max_epi16(values, low_), high_);
  }
  HALYARD_AVX512 void storeRow(uint8_t* to, Shorts values) const {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_cvtepi16_epi8(values));
  }
  HALYARD_AVX512 void storePartOfRow(uint8_t* to, Shorts values, size_t count) const {
    _mm256_mask_storeu_epi8(to, ~__mmask32{0} >> (2 * kIntLanes - count),
                            _mm512_cvtepi16_epi8(values));
  }
  // Of one vector of sums.
  HALYARD_AVX512 void storeHalfRow(uint8_t* to, Ints sums, const Scales& scales) const {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), halfRow(sums, scales));
  }
  HALYARD_AVX512 void storePartOfHalfRow(uint8_t* to, Ints sums, const Scales& scales,
                                         size_t count) const {
    const auto mask = static_cast<__mmask16>((1u << count) - 1);
    _mm_mask_storeu_epi8(to, mask, halfRow(sums, scales));
  }
  HALYARD_AVX512 void storeHalfRows(uint8_t* to, uint8_t* next, Ints sums, Ints nextSums,
                                    const Scales& scales) const {
    // Fours of both rows by turns.
    const __m256i fours =
        _mm512_cvtepi16_epi8(shorts(sums, nextSums, {scales.first, scales.first}));
    const __m256i rows =
        _mm256_permutevar8x32_epi32(fours, _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_castsi256_si128(rows));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(next), _mm256_extracti128_si256(rows, 1));
  }
  HALYARD_AVX512 void storeBlock(uint8_t* to, Shorts low, Shorts high, size_t count) const {
    const __m512i mask = _mm512_set1_epi16(0xff);
    const __m512i bytes =
        _mm512_packus_epi16(_mm512_and_si512(low, mask), _mm512_and_si512(high, mask));
    if (count >= 4 * kIntLanes) {
      _mm512_storeu_si512(to, bytes);
    } else {
      _mm512_mask_storeu_epi8(to, ~__mmask64{0} >> (4 * kIntLanes - count), bytes);
    }
  }

 private:
  HALYARD_AVX512 __m128i halfRow(Ints sums, const Scales& scales) const {
    const __m256i units = _mm512_cvtsepi32_epi16(round(sums, scales.first));
    const __m256i values = _mm256_adds_epi16(units, _mm512_castsi512_si256(zeroPoint_));
    const __m256i limited = _mm256_min_epi16(_mm256_max_epi16(values, _mm512_castsi512_si256(low_)),
                                             _mm512_castsi512_si256(high_));
    return _mm256_cvtepi16_epi8(limited);
  }
  HALYARD_AVX512 static __m512i round(__m512i sums, __m512 scale) {
    return _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_cvtepi32_ps(sums), scale));
  }

  __m512i zeroPoint_;
  __m512i low_;
  __m512i high_;
};

#undef HALYARD_AVX512
}  // namespace halyard::cpudriver::avx512
#endif
