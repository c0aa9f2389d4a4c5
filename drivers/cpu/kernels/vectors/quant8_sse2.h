// Vectors of bytes and of their products for every x86-64: see quant8_vectors.h.
// Thread safety: pure functions, values.
// Ownership: none.
#pragma once

#if defined(__x86_64__)
#include <emmintrin.h>

#include <cstring>

#include "kernels/vectors/quant8_result.h"
#include "ops/small_copy.h"

namespace halyard::cpudriver::sse2 {

inline constexpr size_t kIntLanes = 4;
inline constexpr size_t kQuant8Rows = 6;
inline constexpr size_t kQuant8HalfRows = 6;
inline constexpr Quant8Factors kFactors = Quant8Factors::WIDE;

using Ints = __m128i;
using Sums = __m128i;
using Block = __m128i;
using Shorts = __m128i;

HALYARD_ALWAYS_INLINE Ints loadInts(const void* from) {
  return _mm_loadu_si128(static_cast<const __m128i*>(from));
}
// Signed bytes as values of 16 bits.
HALYARD_ALWAYS_INLINE Ints loadWidened(const void* from) {
  const __m128i bytes = _mm_loadl_epi64(static_cast<const __m128i*>(from));
  return _mm_srai_epi16(_mm_unpacklo_epi8(bytes, bytes), 8);
}
HALYARD_ALWAYS_INLINE void storeInts(void* to, Ints v) {
  _mm_storeu_si128(static_cast<__m128i*>(to), v);
}
HALYARD_ALWAYS_INLINE Ints fillInts(int32_t value) { return _mm_set1_epi32(value); }
HALYARD_ALWAYS_INLINE Ints addInts(Ints a, Ints b) { return _mm_add_epi32(a, b); }
HALYARD_ALWAYS_INLINE Ints broadcastUnit(const void* from) {
  int32_t unit;
  std::memcpy(&unit, from, sizeof unit);
  return _mm_set1_epi32(unit);
}

HALYARD_ALWAYS_INLINE Sums startSums(const int32_t* from) { return loadInts(from); }
HALYARD_ALWAYS_INLINE Ints finishSums(Sums sums) { return sums; }
template <bool kSignedLeft>
HALYARD_ALWAYS_INLINE Sums addProducts(Sums sums, Ints left, Ints packed) {
  return _mm_add_epi32(sums, _mm_madd_epi16(left, packed));
}

HALYARD_ALWAYS_INLINE Block loadBlock(const uint8_t* from) { return loadInts(from); }
HALYARD_ALWAYS_INLINE Block loadFirstBytes(const uint8_t* from, size_t count) {
  alignas(16) std::byte bytes[sizeof(Block)] = {};
  ops::copySmall<sizeof(Block) - 1>(bytes, reinterpret_cast<const std::byte*>(from), count);
  return loadInts(bytes);
}
HALYARD_ALWAYS_INLINE Block fillBlock(uint8_t byte) {
  return _mm_set1_epi8(static_cast<char>(byte));
}
HALYARD_ALWAYS_INLINE Block flipBlock(Block block, Block flip) {
  return _mm_xor_si128(block, flip);
}
HALYARD_ALWAYS_INLINE Ints asUnits(Block block) { return block; }
HALYARD_ALWAYS_INLINE void makeUnits(const Block* taps, Ints* units) {
  const Block zero = _mm_setzero_si128();
  const Block low = _mm_unpacklo_epi8(taps[0], taps[1]);
  const Block high = _mm_unpackhi_epi8(taps[0], taps[1]);
  units[0] = _mm_unpacklo_epi8(low, zero);
  units[1] = _mm_unpackhi_epi8(low, zero);
  units[2] = _mm_unpacklo_epi8(high, zero);
  units[3] = _mm_unpackhi_epi8(high, zero);
}

struct Scales {
  __m128 first;
  __m128 second;
};
HALYARD_ALWAYS_INLINE Scales loadScales(const float* from) {
  return {_mm_loadu_ps(from), _mm_loadu_ps(from + kIntLanes)};
}

class Narrower {
 public:
  HALYARD_ALWAYS_INLINE explicit Narrower(const Quant8Result& result)
      : zeroPoint_(_mm_set1_epi16(static_cast<int16_t>(result.zeroPoint))),
        low_(_mm_set1_epi16(static_cast<int16_t>(result.low))),
        high_(_mm_set1_epi16(static_cast<int16_t>(result.high))) {}

  HALYARD_ALWAYS_INLINE Shorts shorts(Ints first, Ints second, const Scales& scales) const {
    const __m128i units = _mm_packs_epi32(round(first, scales.first), round(second, scales.second));
    const __m128i values = _mm_adds_epi16(units, zeroPoint_);
    return _mm_min_epi16(_mm_max_epi16(values, low_), high_);
  }
  HALYARD_ALWAYS_INLINE void storeRow(uint8_t* to, Shorts values) const {
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to), bytes(values, values));
  }
  HALYARD_ALWAYS_INLINE void storePartOfRow(uint8_t* to, Shorts values, size_t count) const {
    uint8_t kept[2 * kIntLanes];
    storeRow(kept, values);
    std::memcpy(to, kept, count);
  }
  // Of one vector of sums.
  HALYARD_ALWAYS_INLINE void storeHalfRow(uint8_t* to, Ints sums, const Scales& scales) const {
    const Shorts values = shorts(sums, sums, scales);
    const int32_t four = _mm_cvtsi128_si32(bytes(values, values));
    std::memcpy(to, &four, sizeof four);
  }
  HALYARD_ALWAYS_INLINE void storePartOfHalfRow(uint8_t* to, Ints sums, const Scales& scales,
                                                size_t count) const {
    uint8_t kept[kIntLanes];
    storeHalfRow(kept, sums, scales);
    std::memcpy(to, kept, count);
  }
  HALYARD_ALWAYS_INLINE void storeHalfRows(uint8_t* to, uint8_t* next, Ints sums, Ints nextSums,
                                           const Scales& scales) const {
    storeHalfRow(to, sums, scales);
    storeHalfRow(next, nextSums, scales);
  }
  HALYARD_ALWAYS_INLINE void storeBlock(uint8_t* to, Shorts low, Shorts high, size_t count) const {
    if (count >= 4 * kIntLanes) {
      storeInts(to, bytes(low, high));
    } else {
      alignas(16) std::byte kept[4 * kIntLanes];
      storeInts(kept, bytes(low, high));
      ops::copySmall<sizeof kept - 1>(reinterpret_cast<std::byte*>(to), kept, count);
    }
  }

 private:
  HALYARD_ALWAYS_INLINE static __m128i bytes(Shorts low, Shorts high) {
    const __m128i mask = _mm_set1_epi16(0xff);
    return _mm_packus_epi16(_mm_and_si128(low, mask), _mm_and_si128(high, mask));
  }
  HALYARD_ALWAYS_INLINE static __m128i round(__m128i sums, __m128 scale) {
    return _mm_cvtps_epi32(_mm_mul_ps(_mm_cvtepi32_ps(sums), scale));
  }

  __m128i zeroPoint_;
  __m128i low_;
  __m128i high_;
};

}  // namespace halyard::cpudriver::sse2
#endif
