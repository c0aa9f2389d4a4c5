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
  HALYARD_TARGET_AVX512 HALYARD_ALWAYS_INLINE __m128i bytes(__m512i sums) const {
    return _mm512_cvtepi32_epi8(values(sums));
  }

 private:
  __m512 multiplier_;
  __m512 low_;
  __m512 high_;
  __m512i zeroPoint_;
};

}  // namespace halyard::cpudriver::avx512
#endif
