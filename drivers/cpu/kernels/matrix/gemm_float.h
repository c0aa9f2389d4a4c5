// The innermost part of products of float matrices: some rows times one panel of columns.
// Thread safety: pure functions.
// Ownership: borrows everything.
#pragma once

#include <array>
#include <cstddef>

#include "kernels/matrix/tile_result.h"
#include "ops/simd.h"

namespace halyard::cpudriver {

// out[r][c] = clamp(bias[c] + sum over k of left[r][k] * packed[k][c]), where a row's values lie in
// pieces: value k is piece k / depth's value k % depth.
struct FloatTile {
  const float* left;        // the first row
  size_t leftStride;        // elements
  const float* packed;      // [pieces * depth][packed columns, see FloatGemm]
  const ptrdiff_t* pieces;  // where each begins, in elements from the row
  size_t pieceCount;
  size_t depth;  // of a piece
  // The next factors, to be fetched meanwhile (PanelFetch): `depth` times `aheadStep` bytes; may be
  // null. One row fetches its own factors itself, unless this is null.
  const std::byte* ahead;
  size_t aheadStep;
  const float* bias;  // [panel columns]
  TileResult result;
};

// One row times panels whose factors are bytes, and a step for each column:
// out[c] = clamp(step[c] * (sum over k of left[k] * packed[k][c]) + bias[c] + addend[c]).
struct ByteFactorsRow {
  const float* left;
  const int8_t* packed;  // panels that lie behind each other, each [depth][packed columns]
  size_t depth;
  const float* steps;   // [columns of the panels]
  const float* bias;    // the same
  const float* addend;  // [columns]; may be null
  float low;            // the clamp keeps NaN
  float high;
  float* out;  // [columns]
  size_t columns;
};

// Micro kernels by rows, from 1 to mostRows.
template <typename Tile>
struct Micros {
  static constexpr size_t kMostRows = 16;

  size_t mostRows;
  std::array<void (*)(const Tile& tile), kMostRows + 1> forRows;
};
using FloatMicros = Micros<FloatTile>;

// One row is taken with any number of columns: panels, and their bias, that lie behind each other.
struct FloatGemm {
  size_t panelColumns;
  // For rows in one piece, which lose no time over where pieces are, and in any number.
  FloatMicros micro;
  FloatMicros pieces;
  // The same for at most half of a panel's columns.
  FloatMicros narrow;
  FloatMicros narrowPieces;
  void (*byteFactorsRow)(const ByteFactorsRow& row);
  // to[k][c] = packed[k][c] * steps[c] for one panel of `columns` packed columns.
  void (*widenPanel)(const int8_t* packed, const float* steps, size_t depth, size_t columns,
                     float* to);

  bool isNarrow(size_t columns) const { return 2 * columns <= panelColumns; }
  // How many columns are packed for a panel with `columns`.
  size_t packedColumns(size_t columns) const {
    return isNarrow(columns) ? panelColumns / 2 : panelColumns;
  }
  const FloatMicros& microsFor(size_t columns, size_t pieceCount) const {
    if (isNarrow(columns)) return pieceCount == 1 ? narrow : narrowPieces;
    return pieceCount == 1 ? micro : pieces;
  }
};

const FloatGemm& floatGemm(ops::SimdLevel level);

}  // namespace halyard::cpudriver
