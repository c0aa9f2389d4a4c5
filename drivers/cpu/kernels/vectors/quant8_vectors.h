// Vectors of bytes and of their products for 8 bit kernels that are compiled once for each
// instruction set: each namespace has the same names. All code there is inlined into functions with
// the same target attribute.
// Thread safety: pure functions, values.
// Ownership: values.
//
//   Ints, kIntLanes        int32 values; also units of 4 bytes, which are 4 or (WIDE) 2 factors
//   loadWidened            (WIDE) signed bytes as units of 2 factors
//   Sums                   sums of products, with startSums, addProducts and finishSums
//   multiplyFour           (not WIDE) the totals of four Sums times a factor, modulo 2^32
//   Block                  4 * kIntLanes bytes: makeUnits interleaves those of 4 (WIDE: 2) Blocks
//                          to the units of as many channels, in the order of interleavedChannel
//   Narrower               turns sums into 8 bits, exactly as Quant8Result says. It saturates to 16
//                          bits before and after it adds the zero point. This changes no result:
//                          such values are outside of [low, high] and are clamped anyway.
//                          Conversions use the thread's rounding mode, which is always the initial
//                          one: to nearest, ties to even.
//
// addProducts<kSignedLeft> multiplies units of the image (`left`), signed or unsigned, with packed
// ones as kFactors says. With WIDE both are signed, independent of kSignedLeft.
#pragma once

#include "kernels/vectors/quant8_avx2.h"
#include "kernels/vectors/quant8_avx512.h"
#include "kernels/vectors/quant8_neon.h"
#include "kernels/vectors/quant8_sse2.h"
