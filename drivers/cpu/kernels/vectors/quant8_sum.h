// Sums of 8 bit values, bit for bit as the reference kernel adds them.
// Thread safety: pure functions.
// Ownership: borrows everything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "kernels/kernel.h"
#include "ops/activation.h"
#include "ops/simd.h"

namespace halyard::cpudriver {

// clamp(((offset + factorA * a + factorB * b) >> shift) + zeroOut)
struct Quant8Sum {
  int32_t factorA;
  int32_t factorB;
  int32_t offset;  // 2^(shift - 1) - factorA * zeroPointA - factorB * zeroPointB
  int32_t shift;
  int32_t zeroOut;
  ops::ClampRange<int32_t> range;

  template <typename T>
  HALYARD_ALWAYS_INLINE T add(T a, T b) const {
    const int32_t sum = ((offset + factorA * a + factorB * b) >> shift) + zeroOut;
    const int32_t raised = sum < range.min ? range.min : sum;
    return static_cast<T>(raised > range.max ? range.max : raised);
  }
};

// The factors of a + sign * b. `ratio` is the larger of a.scale and b.scale, divided by out's
// scale. Empty if it is outside of [2^-10, 2^8): the reference kernel then calculates in another
// way.
std::optional<Quant8Sum> quant8SumOf(const Quantization& a, const Quantization& b,
                                     const ops::Tensor& out, ops::FuseCode activation,
                                     int32_t sign);

// out[r][i] = a[r][i] + b[r][i], rows of all three `stride` bytes apart. `out` may be `a` or `b`.
struct Quant8SumRows {
  const uint8_t* a;
  const uint8_t* b;
  uint8_t* out;
  size_t stride;
  size_t rows;
  size_t count;
  bool isSigned;
};
void addQuant8(const Quant8Sum& sum, const Quant8SumRows& rows, ops::SimdLevel level);

}  // namespace halyard::cpudriver
