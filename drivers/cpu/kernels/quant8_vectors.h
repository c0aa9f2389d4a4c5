// Int32 sums in vectors back to 8 bit values, for kernels with AVX-512.
// Thread safety: values. Ownership: none.
#pragma once

#include "kernels/gemm_quant8.h"
#include "ops/simd.h"

#if defined(__x86_64__)
#include <immintrin.h>

namespace halyard::cpudriver::avx512 {

// As Quant8Result says, for 16 sums.
class Requantizer {
 public:
  HALYARD_TARGET_AVX512 HALYARD_ALWAYS_INLINE Requantizer(const float* multiplier,
                                                          const Quant8Result& result)
      : multiplier_(_mm512_loadu_ps(multiplier)),
        low_(_mm512_set1_ps(result.low)),
        high_(_mm512_set1_ps(result.high)),
        zeroPoint_(_mm512_set1_epi32(result.zeroPoint)) {}

  // As 32 bit values. The conversions round to nearest, ties to even: threads that call kernels
  // keep the mode that they are born with.
  HALYARD_TARGET_AVX512 HALYARD_ALWAYS_INLINE __m512i values(__m512i sums) const {
    const __m512 units = _mm512_mul_ps(_mm512_cvtepi32_ps(sums), multiplier_);
    // The sum is finite, so that there is no NaN to speak of.
    const __m512 limited = _mm512_min_ps(_mm512_max_ps(units, low_), high_);
    return _mm512_add_epi32(_mm512_cvtps_epi32(limited), zeroPoint_);
  }

 private:
  __m512 multiplier_;
  __m512 low_;
  __m512 high_;
  __m512i zeroPoint_;
};

// As Quant8Result says, for two vectors of sums at a time, whose values are interleaved by fours:
// placeInPanel. Units must fit 32 bits.
class Narrower {
 public:
  HALYARD_TARGET_AVX512 HALYARD_ALWAYS_INLINE Narrower(const float* multipliers,
                                                       const Quant8Result& result)
      : first_(_mm512_loadu_ps(multipliers)),
        second_(_mm512_loadu_ps(multipliers + 16)),
        zeroPoint_(_mm512_set1_epi16(static_cast<int16_t>(result.zeroPoint))),
        low_(_mm512_set1_epi16(
            static_cast<int16_t>(static_cast<int32_t>(result.low) + result.zeroPoint))),
        high_(_mm512_set1_epi16(
            static_cast<int16_t>(static_cast<int32_t>(result.high) + result.zeroPoint))) {}

  HALYARD_TARGET_AVX512 HALYARD_ALWAYS_INLINE __m256i bytes(__m512i first, __m512i second) const {
    const __m512i units = _mm512_packs_epi32(round(first, first_), round(second, second_));
    // Saturation to 16 bits, twice, changes nothing that the range does not cut off anyway.
    const __m512i stored = _mm512_adds_epi16(units, zeroPoint_);
    return _mm512_cvtepi16_epi8(_mm512_min_epi16(_mm512_max_epi16(stored, low_), high_));
  }

 private:
  HALYARD_TARGET_AVX512 HALYARD_ALWAYS_INLINE static __m512i round(__m512i sums,
                                                                   __m512 multiplier) {
    return _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_cvtepi32_ps(sums), multiplier));
  }

  __m512 first_;
  __m512 second_;
  __m512i zeroPoint_;
  __m512i low_;
  __m512i high_;
};

}  // namespace halyard::cpudriver::avx512
#endif
