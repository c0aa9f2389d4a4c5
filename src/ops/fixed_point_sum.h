// FixedPointSum: the sum of two rescaled 8-bit values, as the reference and devices compute it.
// Thread safety: immutable. Ownership: none.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace halyard::ops {

// Adds two rescaled 8-bit values in fixed point, rounded once, to nearest with ties up. 8-bit
// kernels of the wider ecosystem share this arithmetic, so results agree bit for bit. The larger
// ratio gets 21 significant bits. The error is 2^-12 units for ratios of real models, about 1, and
// 2^-5 at the end of the range.
class FixedPointSum {
 public:
  // In this range of the larger ratio no int32 overflows: 2 * 2^21 * 255 + 2^29 < 2^31.
  static bool covers(float larger) { return larger >= 0x1p-10F && larger < 0x1p8F; }

  FixedPointSum(float ratioA, float ratioB, int32_t sign)
      : shift_(kBits - std::ilogb(std::max(ratioA, ratioB))),
        a_(static_cast<int32_t>(std::lrint(std::ldexp(ratioA, shift_)))),
        b_(sign * static_cast<int32_t>(std::lrint(std::ldexp(ratioB, shift_)))),
        half_(int32_t{1} << (shift_ - 1)) {}
  int32_t operator()(int32_t a, int32_t b) const { return (half_ + a_ * a + b_ * b) >> shift_; }

  int32_t shift() const { return shift_; }
  int32_t factorOfA() const { return a_; }
  int32_t factorOfB() const { return b_; }
  int32_t half() const { return half_; }

 private:
  static constexpr int kBits = 20;
  int shift_;  // 13 to 30
  int32_t a_;
  int32_t b_;
  int32_t half_;
};

}  // namespace halyard::ops
