// Vectors of float16 for kernels that are compiled for processors with arithmetic of float16. Each
// namespace has the same names, beside those of float_vectors.h. Values of rows come in pairs. The
// weights of a pair fill kVectors vectors, for kVectors * kLanes columns: 1 or 2.
// Thread safety: pure functions.
// Ownership: values.
#pragma once

#include "kernels/vectors/float_vectors.h"

#if defined(__aarch64__)
#include <arm_neon.h>
#endif

// clang 14 and GCC 11 know the instructions, but not always the functions for them. So these are
// the names that their headers define.
#if defined(__AVX512FP16INTRIN_H) || defined(__AVX512FP16INTRIN_H_INCLUDED)
#define HALYARD_HAS_AVX512_FP16
#endif

namespace halyard::cpudriver {

// The bits of a float16.
using HalfBits = uint16_t;

#if defined(HALYARD_HAS_AVX512_FP16)
namespace avx512fp16 {
#define HALYARD_FP16 HALYARD_TARGET_AVX512_FP16 HALYARD_ALWAYS_INLINE
using namespace avx512;
using Halves = __m512h;
using Pair = __m512h;
HALYARD_FP16 Halves zeroHalves() { return _mm512_setzero_ph(); }
HALYARD_FP16 Halves loadHalves(const HalfBits* from) { return _mm512_loadu_ph(from); }
// A row's pair, in front of each column.
template <size_t kVectors>
HALYARD_FP16 Pair loadPair(const HalfBits* from) {
  int bits;
  std::memcpy(&bits, from, sizeof(bits));
  return _mm512_castsi512_ph(_mm512_set1_epi32(bits));
}
template <size_t kVectors, size_t kVector>
HALYARD_FP16 Halves multiplyAddPair(Pair pair, Halves weights, Halves sum) {
  return _mm512_fmadd_ph(pair, weights, sum);
}
// The sum of a pair's two sums for each column.
HALYARD_FP16 Vector addPair(Halves x) {
  asm("" : "+v"(x));  // GCC 12 would keep a copy of each sum as an integer, in memory
  const Halves exchanged = _mm512_castsi512_ph(_mm512_rol_epi32(_mm512_castph_si512(x), 16));
  const __m512i sums = _mm512_castph_si512(_mm512_add_ph(x, exchanged));
  return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(sums));
}
// The sums of vector `kVector`'s columns.
template <size_t kVectors, size_t kVector>
HALYARD_FP16 Vector sumsOf(const Halves (&sums)[kVectors]) {
  return addPair(sums[kVector]);
}
HALYARD_FP16 void narrowFirst(const float* from, size_t count, HalfBits* to) {
  const __m256i halves =
      _mm512_cvtps_ph(loadFirst(from, count), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  _mm256_mask_storeu_epi16(to, firstLanes(count), halves);
}
// Where the weight of column `column` and of value `k` of a pair lies, in elements.
inline size_t weightAt(size_t /*packedColumns*/, size_t column, size_t k) { return 2 * column + k; }
#undef HALYARD_FP16
}  // namespace avx512fp16
#elif defined(__aarch64__)
// Two vectors of weights are one for each value of a pair. So a row's value comes from a lane,
// which takes no instruction of its own.
namespace neonfp16 {
#define HALYARD_FP16 HALYARD_TARGET_NEON_FP16 HALYARD_ALWAYS_INLINE
using namespace portable;
using Halves = float16x8_t;
using Pair = float;  // its bits
HALYARD_FP16 Halves zeroHalves() { return vreinterpretq_f16_u16(vdupq_n_u16(0)); }
HALYARD_FP16 Halves loadHalves(const HalfBits* from) {
  return vreinterpretq_f16_u16(vld1q_u16(from));
}
template <size_t kVectors>
HALYARD_FP16 Pair loadPair(const HalfBits* from) {
  Pair pair;
  std::memcpy(&pair, from, sizeof(pair));
  return pair;
}
template <size_t kVectors, size_t kVector>
HALYARD_FP16 Halves multiplyAddPair(Pair pair, Halves weights, Halves sum) {
  if constexpr (kVectors == 1) {
    return vfmaq_f16(sum, vreinterpretq_f16_f32(vdupq_n_f32(pair)), weights);
  }
  // GCC 12 takes a lane out of its register before vfmaq_lane_f16.
  asm("fmla %0.8h, %1.8h, %2.h[%3]" : "+w"(sum) : "w"(weights), "x"(pair), "i"(kVector));
  return sum;
}
template <size_t kVectors, size_t kVector>
HALYARD_FP16 Vector sumsOf(const Halves (&sums)[kVectors]) {
  const auto four = [](Halves x, bool isHigh) {
    return isHigh ? vcvt_high_f32_f16(x) : vcvt_f32_f16(vget_low_f16(x));
  };
  if constexpr (kVectors == 1) {
    return (Vector)vpaddq_f32(four(sums[0], false), four(sums[0], true));
  } else {
    return (Vector)vaddq_f32(four(sums[0], kVector == 1), four(sums[1], kVector == 1));
  }
}
HALYARD_FP16 void narrowFirst(const float* from, size_t count, HalfBits* to) {
  const uint16x4_t halves = vreinterpret_u16_f16(vcvt_f16_f32((float32x4_t)loadFirst(from, count)));
  std::memcpy(to, &halves, count * sizeof(HalfBits));
}
inline size_t weightAt(size_t packedColumns, size_t column, size_t k) {
  return packedColumns == kLanes ? 2 * column + k : packedColumns * k + column;
}
#undef HALYARD_FP16
}  // namespace neonfp16
#endif

}  // namespace halyard::cpudriver
