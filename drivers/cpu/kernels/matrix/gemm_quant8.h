// The innermost part of products of 8 bit matrices: some rows times one panel of columns, and back
// to 8 bits.
// Thread safety: pure functions.
// Ownership: borrows everything.
//
// Rows and columns are multiplied by units of 4 bytes (Quant8Factors), which are 4 values. With
// WIDE factors they are 2 values of 16 bits. Rows are widened before, and the signed bytes of a
// column when they are loaded.
//
// Zero points are taken out of the sums afterwards: sum (a - za)(w - zw) is
//   sum a w  -  zw sum a  -  za sum w  +  depth za zw
// where the second term is for each row (rowTerms), the others for each column (in `bias`). All
// arithmetic is modulo 2^32, so that only the final sum has to fit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/matrix/tile_result.h"
#include "kernels/matrix/tile_unit.h"
#include "kernels/vectors/quant8_result.h"
#include "ops/simd.h"

namespace halyard::cpudriver {

// Columns of a panel of two vectors are not packed in their order: what the two become together
// when they are narrowed is. The place of column `column` of a panel of `width` in `packed`, `bias`
// and `multiplier`. Those of a panel of one vector are in their order.
inline size_t placeInPanel(size_t column, size_t width) {
  return column / 4 % 2 * (width / 2) + column / 8 * 4 + column % 4;
}

struct Quant8Tile {
  const uint8_t* left;  // the first row: [pieces][units][4]
  size_t leftStride;    // bytes
  // [pieces][units][places][Quant8Gemm::unitValues()]; 0 behind the depth
  const uint8_t* packed;
  size_t units;             // of 4 bytes of a row, in a piece
  const int32_t* bias;      // [places]
  const float* multiplier;  // [places]
  const int32_t* rowTerms;  // [rows], added to all of a row's sums; may be null
  Quant8Result result;
  uint8_t* out;      // [rows][columns]
  size_t outStride;  // bytes
  size_t columns;    // at most the panel's
  // Where each piece begins, in bytes from the row; not looked at by micro kernels of whole rows.
  // Null for tiles: rows are whole.
  const ptrdiff_t* pieces = nullptr;
  size_t pieceCount = 1;
};

// Sums that become real numbers: out[r][c] =
//   clamp(bias[c] + rowStep[r] * columnStep[c] * (sum[r][c] - rowZero[r] * columnSum[c])
//         + addend[r][c]).
// Columns are in their order.
struct Quant8RealTile {
  Quant8Tile sums;  // of unsigned rows, without terms and results; `bias` is 0
  // The next factors, to be fetched meanwhile (PanelFetch): `units` times `aheadStep` bytes.
  const std::byte* ahead;
  size_t aheadStep;
  const float* rowStep;
  const float* rowZero;
  const float* columnStep;
  const float* columnSum;
  const float* bias;
  TileResult result;
};

// The properties of a product that the choice of kernels depends on.
struct Quant8Shape {
  size_t rows;
  size_t units;  // of 4 bytes, in each piece of a row
  size_t pieces = 1;
};

struct Quant8Gemm {
  using Micro = void (*)(const Quant8Tile& tile);
  using RealMicro = void (*)(const Quant8RealTile& tile);
  static constexpr size_t kMostRows = 16;
  struct Micros {
    Micro whole[kMostRows + 1];  // by rows, for panels of two vectors
    Micro half[kMostRows + 1];   // of one
  };
  struct RealMicros {
    RealMicro whole[kMostRows + 1];
    RealMicro half[kMostRows + 1];
  };
  using TileMicro = void (*)(const Quant8Tile& tile, const TileSizes& tiles);
  struct TileMicros {
    TileMicro whole;
    TileMicro half;
  };
  // The results of the first `skipped` rows are not stored.
  using RealTileMicro = void (*)(const Quant8RealTile& tile, const TileSizes& tiles,
                                 size_t skipped);
  struct RealTileMicros {
    RealTileMicro whole;
    RealTileMicro half;
  };

  Quant8Factors factors;
  size_t panelColumns;
  size_t maxRows;      // of panels of two vectors
  size_t maxHalfRows;  // of one
  Micros unsignedLeft;
  Micros signedLeft;  // null where factors are WIDE
  // For rows in pieces, that are unsigned where factors are OPPOSITE and signed where they are
  // SAME; null where they are WIDE.
  Micros pieces;
  // sums[r] = factor * sum of the row's `depth` bytes, modulo 2^32.
  void (*sumRows)(const uint8_t* left, size_t stride, size_t depth, size_t rows, bool isSigned,
                  int32_t factor, int32_t* sums);
  // to[r][k], rows `toStride` values apart, for units of WIDE factors; otherwise null. A
  // value behind the depth stays as it is, since the packed factor there is 0.
  void (*widenRows)(const uint8_t* left, size_t stride, size_t depth, size_t rows, bool isSigned,
                    int16_t* to, size_t toStride);
  RealMicros real;  // may be null
  // In place of micro kernels where factors are SIGNED_RIGHT, and otherwise null. Rows may be in
  // pieces. Real results are of panels for the real micro kernels.
  TileMicros unsignedTiles = {};
  TileMicros signedTiles = {};
  RealTileMicros realTiles = {};

  bool usesTiles() const { return factors == Quant8Factors::SIGNED_RIGHT; }
  // Values of a unit, which is as many bytes of a packed column.
  size_t unitValues() const { return factors == Quant8Factors::WIDE ? 2 : 4; }
  // Whether there are micro kernels with real results.
  bool hasReal() const { return real.whole[1] != nullptr; }
};

// Rows for WIDE factors, with 16 bits for each value.
struct WideRows {
  const uint8_t* first;
  size_t stride;  // bytes
};
// Of rows of bytes. The memory is the calling thread's, until the next call.
WideRows widenRows(const Quant8Gemm& gemm, const uint8_t* left, size_t stride, size_t depth,
                   size_t rows, bool isSigned);

// Packs `count` columns of whole units, `columnBytes` apart, into neighbouring places: `to` is the
// first of them, of [units][places].
void packUnits(const Quant8Gemm& gemm, const uint8_t* columns, size_t columnBytes, size_t count,
               size_t units, uint8_t* to, size_t places);

// Of vectors. Null where the architecture has none.
const Quant8Gemm* quant8Gemm(ops::SimdLevel level);
// The same, or tiles where they take less time for the shape.
const Quant8Gemm* quant8Gemm(ops::SimdLevel level, const Quant8Shape& shape);

}  // namespace halyard::cpudriver
