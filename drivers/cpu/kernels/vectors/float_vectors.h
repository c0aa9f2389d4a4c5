// Vectors of floats for kernels that are compiled once for each instruction set: each namespace has
// the same names. All code here is inlined into functions with the same target attribute.
// Thread safety: pure functions.
// Ownership: values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "ops/simd.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__clang__)
#define HALYARD_KERNEL_UNROLL _Pragma("clang loop unroll(full)")
#else
#define HALYARD_KERNEL_UNROLL _Pragma("GCC unroll 16")
#endif

namespace halyard::cpudriver {

namespace portable {
inline constexpr size_t kLanes = 4;
inline constexpr size_t kMaxRows = 6;         // with two vectors each, what 16 registers hold
inline constexpr size_t kMaxNarrowRows = 12;  // with one
using Vector = float __attribute__((vector_size(16)));
HALYARD_ALWAYS_INLINE Vector loadFirst(const float* from, size_t count) {
  Vector v = {0, 0, 0, 0};
  std::memcpy(&v, from, count * sizeof(float));
  return v;
}
HALYARD_ALWAYS_INLINE void storeFirst(float* to, Vector v, size_t count) {
  std::memcpy(to, &v, count * sizeof(float));
}
HALYARD_ALWAYS_INLINE Vector load(const float* from) { return loadFirst(from, kLanes); }
HALYARD_ALWAYS_INLINE void store(float* to, Vector v) { storeFirst(to, v, kLanes); }
// kLanes bytes as floats.
HALYARD_ALWAYS_INLINE Vector loadBytes(const int8_t* from) {
  return Vector{static_cast<float>(from[0]), static_cast<float>(from[1]),
                static_cast<float>(from[2]), static_cast<float>(from[3])};
}
HALYARD_ALWAYS_INLINE Vector fill(float x) { return Vector{x, x, x, x}; }
HALYARD_ALWAYS_INLINE Vector multiplyAdd(Vector a, Vector b, Vector c) { return a * b + c; }
// The same value, which the compiler does not know to be a product that could be fused with a sum.
HALYARD_ALWAYS_INLINE Vector keepApart(Vector x) {
#if defined(__aarch64__)
  asm("" : "+w"(x));
#else
  asm("" : "+x"(x));
#endif
  return x;
}
HALYARD_ALWAYS_INLINE Vector floorOf(Vector x) {
  return Vector{__builtin_floorf(x[0]), __builtin_floorf(x[1]), __builtin_floorf(x[2]),
                __builtin_floorf(x[3])};
}
// The bytes clamp(floor(x) - least, 0, most) of four vectors; any bytes for values beyond 16 bits.
HALYARD_ALWAYS_INLINE void storeBytes(uint8_t* to, const Vector* four, int32_t least,
                                      int32_t most) {
  for (size_t i = 0; i < 4 * kLanes; ++i) {
    const int32_t whole = static_cast<int32_t>(floorOf(four[i / kLanes])[i % kLanes]) - least;
    to[i] = static_cast<uint8_t>(whole < 0 ? 0 : whole > most ? most : whole);
  }
}
// Of lanes that are no NaN.
HALYARD_ALWAYS_INLINE float leastLane(Vector x) {
  const float first = x[0] < x[1] ? x[0] : x[1];
  const float second = x[2] < x[3] ? x[2] : x[3];
  return first < second ? first : second;
}
// Keeps NaN.
HALYARD_ALWAYS_INLINE Vector clamp(Vector x, Vector low, Vector high) {
  const Vector raised = x < low ? low : x;
  return raised > high ? high : raised;
}
}  // namespace portable

#if defined(__x86_64__)
namespace avx2 {
#define HALYARD_AVX2 HALYARD_TARGET_AVX2 HALYARD_ALWAYS_INLINE
inline constexpr size_t kLanes = 8;
inline constexpr size_t kMaxRows = 6;  // as above
inline constexpr size_t kMaxNarrowRows = 12;
using Vector = __m256;
HALYARD_AVX2 __m256i firstLanes(size_t count) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)),
                            _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
HALYARD_AVX2 Vector load(const float* from) { return _mm256_loadu_ps(from); }
HALYARD_AVX2 void store(float* to, Vector v) { _mm256_storeu_ps(to, v); }
HALYARD_AVX2 Vector loadFirst(const float* from, size_t count) {
  return _mm256_maskload_ps(from, firstLanes(count));
}
HALYARD_AVX2 void storeFirst(float* to, Vector v, size_t count) {
  _mm256_maskstore_ps(to, firstLanes(count), v);
}
HALYARD_AVX2 Vector loadBytes(const int8_t* from) {
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes));
}
HALYARD_AVX2 Vector fill(float x) { return _mm256_set1_ps(x); }
HALYARD_AVX2 Vector multiplyAdd(Vector a, Vector b, Vector c) { return _mm256_fmadd_ps(a, b, c); }
HALYARD_AVX2 Vector keepApart(Vector x) {
  asm("" : "+x"(x));
  return x;
}
HALYARD_AVX2 Vector floorOf(Vector x) { return _mm256_floor_ps(x); }
HALYARD_AVX2 __m256i floorInts(Vector x) { return _mm256_cvttps_epi32(_mm256_floor_ps(x)); }
HALYARD_AVX2 void storeBytes(uint8_t* to, const Vector* four, int32_t least, int32_t most) {
  const __m256i zero = _mm256_set1_epi16(static_cast<int16_t>(least));
  const __m256i first =
      _mm256_subs_epi16(_mm256_packs_epi32(floorInts(four[0]), floorInts(four[1])), zero);
  const __m256i second =
      _mm256_subs_epi16(_mm256_packs_epi32(floorInts(four[2]), floorInts(four[3])), zero);
  // Of each half of the vectors, four bytes of each.
  const __m256i fours = _mm256_min_epu8(_mm256_packus_epi16(first, second),
                                        _mm256_set1_epi8(static_cast<char>(most)));
  const __m256i bytes =
      _mm256_permutevar8x32_epi32(fours, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), bytes);
}
HALYARD_AVX2 float leastLane(Vector x) {
  const __m128 four = _mm_min_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  const __m128 two = _mm_min_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_min_ss(two, _mm_movehdup_ps(two)));
}
// With a NaN, min and max give their second operand.
HALYARD_AVX2 Vector clamp(Vector x, Vector low, Vector high) {
  return _mm256_min_ps(high, _mm256_max_ps(low, x));
}
#undef HALYARD_AVX2
}  // namespace avx2

namespace avx512 {
#define HALYARD_AVX512 HALYARD_TARGET_AVX512 HALYARD_ALWAYS_INLINE
inline constexpr size_t kLanes = 16;
inline constexpr size_t kMaxRows = 14;  // there are 32 registers
inline constexpr size_t kMaxNarrowRows = 16;
using Vector = __m512;
HALYARD_AVX512 __mmask16 firstLanes(size_t count) {
  return static_cast<__mmask16>((1u << count) - 1);
}
HALYARD_AVX512 Vector load(const float* from) { return _mm512_loadu_ps(from); }
HALYARD_AVX512 void store(float* to, Vector v) { _mm512_storeu_ps(to, v); }
HALYARD_AVX512 Vector loadFirst(const float* from, size_t count) {
  return _mm512_maskz_loadu_ps(firstLanes(count), from);
}
HALYARD_AVX512 void storeFirst(float* to, Vector v, size_t count) {
  _mm512_mask_storeu_ps(to, firstLanes(count), v);
}
HALYARD_AVX512 Vector loadBytes(const int8_t* from) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes));
}
HALYARD_AVX512 Vector fill(float x) { return _mm512_set1_ps(x); }
HALYARD_AVX512 Vector multiplyAdd(Vector a, Vector b, Vector c) { return _mm512_fmadd_ps(a, b, c); }
HALYARD_AVX512 Vector keepApart(Vector x) {
  asm("" : "+v"(x));
  return x;
}
HALYARD_AVX512 Vector floorOf(Vector x) {
  return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}
HALYARD_AVX512 __m512i floorInts(Vector x) {
  return _mm512_cvt_roundps_epi32(x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}
HALYARD_AVX512 void storeBytes(uint8_t* to, const Vector* four, int32_t least, int32_t most) {
  const __m512i zero = _mm512_set1_epi16(static_cast<int16_t>(least));
  const __m512i first =
      _mm512_subs_epi16(_mm512_packs_epi32(floorInts(four[0]), floorInts(four[1])), zero);
  const __m512i second =
      _mm512_subs_epi16(_mm512_packs_epi32(floorInts(four[2]), floorInts(four[3])), zero);
  // Of each quarter of the vectors, four bytes of each.
  const __m512i fours = _mm512_min_epu8(_mm512_packus_epi16(first, second),
                                        _mm512_set1_epi8(static_cast<char>(most)));
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  _mm512_storeu_si512(to, _mm512_permutexvar_epi32(order, fours));
}
HALYARD_AVX512 float leastLane(Vector x) { return _mm512_reduce_min_ps(x); }
HALYARD_AVX512 Vector clamp(Vector x, Vector low, Vector high) {
  return _mm512_min_ps(high, _mm512_max_ps(low, x));
}
#undef HALYARD_AVX512
}  // namespace avx512
#endif

}  // namespace halyard::cpudriver
