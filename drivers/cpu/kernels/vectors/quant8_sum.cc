// Sums of bytes in the reference kernel's fixed point.
#include "kernels/vectors/quant8_sum.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace halyard::cpudriver {
namespace {

// Copies inputs to local blocks first: the compiler does not vectorise the loop if `out` may
// overlap an input.
template <typename T>
HALYARD_ALWAYS_INLINE void addPlainRows(const Quant8Sum* sum, const Quant8SumRows* rows) {
  constexpr size_t kBlock = 64;
  const Quant8Sum known = *sum;
  for (size_t r = 0; r < rows->rows; ++r) {
    const size_t offset = r * rows->stride;
    for (size_t i = 0; i < rows->count; i += kBlock) {
      const size_t count = std::min(kBlock, rows->count - i);
      T a[kBlock];
      T b[kBlock];
      std::memcpy(a, rows->a + offset + i, count);
      std::memcpy(b, rows->b + offset + i, count);
      for (size_t k = 0; k < count; ++k) a[k] = known.add(a[k], b[k]);
      std::memcpy(rows->out + offset + i, a, count);
    }
  }
}

#if defined(__x86_64__)
template <typename T>
HALYARD_TARGET_AVX512 HALYARD_ALWAYS_INLINE __m512i widen(__m256i bytes) {
  return std::is_signed_v<T> ? _mm512_cvtepi8_epi16(bytes) : _mm512_cvtepu8_epi16(bytes);
}

// Pairs of 16 bit values times pairs of factors. Factors are divided into 12 bits and the bits
// above, so that one instruction adds two products.
class PairSum {
 public:
  HALYARD_TARGET_AVX512 explicit PairSum(const Quant8Sum& sum)
      : low_(_mm512_set1_epi32(pair(sum.factorA & kLowMask, sum.factorB & kLowMask))),
        high_(_mm512_set1_epi32(pair(sum.factorA >> kLowBits, sum.factorB >> kLowBits))),
        offset_(_mm512_set1_epi32(sum.offset)),
        shift_(_mm_cvtsi32_si128(sum.shift)) {}

  HALYARD_TARGET_AVX512 HALYARD_ALWAYS_INLINE __m512i units(__m512i pairs) const {
    const __m512i above = _mm512_slli_epi32(_mm512_madd_epi16(pairs, high_), kLowBits);
    const __m512i products = _mm512_add_epi32(_mm512_madd_epi16(pairs, low_), above);
    return _mm512_sra_epi32(_mm512_add_epi32(products, offset_), shift_);
  }

 private:
  static constexpr int kLowBits = 12;
  static constexpr int32_t kLowMask = (1 << kLowBits) - 1;
  static int32_t pair(int32_t a, int32_t b) {
    return static_cast<int32_t>(static_cast<uint32_t>(b) << 16 |
                                (static_cast<uint32_t>(a) & 0xffff));
  }

  __m512i low_;
  __m512i high_;
  __m512i offset_;
  __m128i shift_;
};

template <typename T>
HALYARD_TARGET_AVX512 void addRowsOf(const Quant8Sum& sum, const Quant8SumRows& rows) {
  const PairSum pairs(sum);
  const __m512i zero = _mm512_set1_epi16(static_cast<int16_t>(sum.zeroOut));
  const __m512i least = _mm512_set1_epi16(static_cast<int16_t>(sum.range.min));
  const __m512i greatest = _mm512_set1_epi16(static_cast<int16_t>(sum.range.max));
  for (size_t r = 0; r < rows.rows; ++r) {
    const size_t offset = r * rows.stride;
    for (size_t i = 0; i < rows.count; i += 32) {
      const size_t left = rows.count - i;
      const __mmask32 mask = left >= 32 ? ~__mmask32{0} : (__mmask32{1} << left) - 1;
      const __m512i a = widen<T>(_mm256_maskz_loadu_epi8(mask, rows.a + offset + i));
      const __m512i b = widen<T>(_mm256_maskz_loadu_epi8(mask, rows.b + offset + i));
      // A value that does not fit 16 bits is beyond the range in any case.
      const __m512i units = _mm512_packs_epi32(pairs.units(_mm512_unpacklo_epi16(a, b)),
                                               pairs.units(_mm512_unpackhi_epi16(a, b)));
      const __m512i values = _mm512_adds_epi16(units, zero);
      const __m512i limited = _mm512_min_epi16(_mm512_max_epi16(values, least), greatest);
      _mm256_mask_storeu_epi8(rows.out + offset + i, mask, _mm512_cvtepi16_epi8(limited));
    }
  }
}
#endif

}  // namespace

std::optional<Quant8Sum> quant8SumOf(const Quantization& a, const Quantization& b,
                                     const ops::Tensor& out, ops::FuseCode activation,
                                     int32_t sign) {
  constexpr int kBits = 20;
  const float ratioA = a.scale / out.scale;
  const float ratioB = b.scale / out.scale;
  const float larger = std::max(ratioA, ratioB);
  // Outside of this range the reference kernel calculates in another way.
  if (!(larger >= 0x1p-10F && larger < 0x1p8F)) return std::nullopt;
  Quant8Sum sum;
  sum.shift = kBits - std::ilogb(larger);
  sum.factorA = static_cast<int32_t>(std::lrint(std::ldexp(ratioA, sum.shift)));
  sum.factorB = sign * static_cast<int32_t>(std::lrint(std::ldexp(ratioB, sum.shift)));
  // No overflow: a factor is below 2^21. With differences to the zero points, both products and the
  // half together are below 2^31. With plain values instead of differences they are smaller.
  sum.offset =
      (int32_t{1} << (sum.shift - 1)) - sum.factorA * a.zeroPoint - sum.factorB * b.zeroPoint;
  sum.zeroOut = out.zeroPoint;
  sum.range = ops::activationRange(activation, out);
  return sum;
}

void addQuant8(const Quant8Sum& sum, const Quant8SumRows& rows,
               [[maybe_unused]] ops::SimdLevel level) {
#if defined(__x86_64__)
  if (level >= ops::SimdLevel::AVX512) {
    return rows.isSigned ? addRowsOf<int8_t>(sum, rows) : addRowsOf<uint8_t>(sum, rows);
  }
#endif
  if (rows.isSigned) {
    ops::runBest<&addPlainRows<int8_t>>(&sum, &rows);
  } else {
    ops::runBest<&addPlainRows<uint8_t>>(&sum, &rows);
  }
}

}  // namespace halyard::cpudriver
