// IEEE 754 binary16: storage and conversion.
// Thread safety: pure functions. Ownership: none.
#pragma once

#include <bit>
#include <cstdint>

namespace halyard {

// The bits of a binary16 number, as NNAPI's FLOAT16 and TENSOR_FLOAT16 hold them.
struct Float16 {
  uint16_t bits;
};
static_assert(sizeof(Float16) == 2);

// a where `mask` is all ones, b where it is 0.
constexpr uint32_t selectBits(uint32_t mask, uint32_t a, uint32_t b) {
  return (a & mask) | (b & ~mask);
}
constexpr uint32_t maskIf(bool condition) { return 0u - static_cast<uint32_t>(condition); }

// Both conversions compute every case and select by masks, so that loops over them vectorise. A
// conditional operator would become a branch where a case has floating-point arithmetic. They are
// always inlined, so that they use the instruction set of the loop.
__attribute__((always_inline)) inline float toFloat(Float16 h) {
  const uint32_t sign = static_cast<uint32_t>(h.bits & 0x8000u) << 16;
  const uint32_t magnitude = static_cast<uint32_t>(h.bits & 0x7fffu) << 13;
  // The exponents' biases differ by 112. The product is exact, also for subnormals.
  const float scaled = std::bit_cast<float>(magnitude) * 0x1p112f;
  const uint32_t finite = maskIf(magnitude < (0x7c00u << 13));
  const uint32_t bits =
      selectBits(finite, std::bit_cast<uint32_t>(scaled), magnitude | 0x7f800000u);
  return std::bit_cast<float>(sign | bits);
}

// Rounds to nearest, ties to even; overflow becomes infinity, NaN stays NaN.
__attribute__((always_inline)) inline Float16 toFloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  // Below 2^-14: adding 0.5 aligns the fraction to multiples of 2^-24 with the FPU's rounding.
  const float aligned = std::bit_cast<float>(magnitude) + 0.5f;
  const uint32_t small = std::bit_cast<uint32_t>(aligned) - 0x3f000000u;
  const uint32_t odd = (magnitude >> 13) & 1u;
  const uint32_t normal = (magnitude - 0x38000000u + 0xfffu + odd) >> 13;
  uint32_t half = selectBits(maskIf(magnitude < 0x38800000u), small, normal);
  half = selectBits(maskIf(magnitude >= 0x477ff000u), 0x7c00u, half);
  half = selectBits(maskIf(magnitude > 0x7f800000u), 0x7e00u, half);
  return {static_cast<uint16_t>(sign | half)};
}

}  // namespace halyard
