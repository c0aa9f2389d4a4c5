// Vectors of bytes and of their products for 8 bit kernels that are compiled once for each
// instruction set: each namespace has the same names. What stands there is inlined into functions
// with the same target attribute.
// Thread safety: pure functions, values. Ownership: none.
//
//   Ints, kIntLanes        int32 values; also units of 4 bytes, which are 4 or (WIDE) 2 factors
//   Sums                   sums of products, with startSums, addProducts and finishSums
//   multiplyFour           (not WIDE) the totals of four Sums times a factor, modulo 2^32
//   Block                  4 * kIntLanes bytes: makeUnits interleaves those of 4 (WIDE: 2) Blocks
//                          to the units of as many channels, in the order of interleavedChannel
//   Narrower               sums back to 8 bits, exactly as Quant8Result says: what saturation to 16
//                          bits takes away, twice, the range takes away anyway. Conversions round
//                          to nearest, ties to even: threads keep the mode they are born with.
//
// addProducts<kSignedLeft> multiplies units of the image (`left`), signed or unsigned, with packed
// ones as kFactors says; with WIDE both are signed whatever kSignedLeft says.
#pragma once

#include "kernels/vectors/quant8_avx2.h"
#include "kernels/vectors/quant8_avx512.h"
#include "kernels/vectors/quant8_neon.h"
#include "kernels/vectors/quant8_sse2.h"
