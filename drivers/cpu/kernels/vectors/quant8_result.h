// Quant8Factors and Quant8Result: the factors that 8 bit kernels multiply, and the way from a sum
// of products back to 8 bits.
// Thread safety: values.
// Ownership: none.
#pragma once

#include <cstdint>

namespace halyard::cpudriver {

// The factors of a processor's instruction that multiplies and adds to an int32.
enum class Quant8Factors {
  OPPOSITE,      // 4 bytes, of one side unsigned and of the other signed
  SAME,          // 4 bytes, both unsigned or both signed
  SIGNED_RIGHT,  // 4 bytes, of the right side signed and of the left side of either kind
  WIDE           // 2 values of 16 bits, for which bytes are widened
};

// Turns a sum of products in units of input times filter into an 8 bit value, bit for bit as
// ops::QuantizedOutput: clamp(zeroPoint + round(float(sum) * multiplier)). Rounding is to nearest,
// ties to even. The product must fit 32 bits.
struct Quant8Result {
  int32_t low;
  int32_t high;
  int32_t zeroPoint;
};

}  // namespace halyard::cpudriver
