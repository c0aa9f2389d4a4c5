// The innermost part of products of 8 bit matrices: some rows times one panel of columns, and back
// to 8 bits.
// Thread safety: pure functions. Ownership: borrows everything.
//
// One instruction multiplies 4 unsigned bytes with 4 signed ones and adds the products to an int32.
// Of rows and columns one is therefore taken as unsigned, the other as signed. Zero points are
// taken out of the sums afterwards: sum (a - za)(w - zw) is
//   sum a w  -  zw sum a  -  za sum w  +  depth za zw
// where the second term is for each row (FixedRows), the others for each column (in `bias`). All
// arithmetic is modulo 2^32, so that only the final sum has to fit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/simd.h"

namespace halyard::cpudriver {

// How a sum of products in units of input times filter becomes an 8 bit value, bit for bit as
// ops::QuantizedOutput does it: clamp(zeroPoint + round(float(sum) * multiplier)), to nearest, ties
// to even.
struct Quant8Result {
  float low;  // of what is stored, less the zero point
  float high;
  int32_t zeroPoint;
};

// Columns of a panel are not packed in their order: what two vectors of sums become together when
// they are narrowed is. The place of column `column`, of 32, in `packed`, `bias` and `multiplier`.
inline size_t placeInPanel(size_t column) {
  return column / 4 % 2 * 16 + column / 8 * 4 + column % 4;
}

struct Quant8Tile {
  const uint8_t* left;      // [rows][depth]; read in whole units of 4 bytes
  size_t leftStride;        // bytes
  const uint8_t* packed;    // [units][places][4]; 0 behind the depth
  size_t units;             // of 4
  const int32_t* bias;      // [places]
  const float* multiplier;  // [places]
  const int32_t* rowTerms;  // [rows], added to all of a row's sums; may be null
  Quant8Result result;
  uint8_t* out;      // [rows][columns]
  size_t outStride;  // bytes
  size_t columns;    // at most the panel's
};

struct Quant8Gemm {
  size_t panelColumns;
  size_t maxRows;                                    // at most 12
  void (*unsignedLeft[13])(const Quant8Tile& tile);  // by rows; packed bytes are signed
  void (*signedLeft[13])(const Quant8Tile& tile);    // packed bytes are unsigned
  // sums[r] = factor * sum of the row's `depth` bytes, modulo 2^32.
  void (*sumRows)(const uint8_t* left, size_t stride, size_t depth, size_t rows, bool isSigned,
                  int32_t factor, int32_t* sums);
};

// Null where the instruction is missing.
const Quant8Gemm* quant8Gemm(ops::SimdLevel level);

}  // namespace halyard::cpudriver
