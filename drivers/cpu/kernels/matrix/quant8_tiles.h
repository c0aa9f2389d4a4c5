// Products of 8 bit matrices by a processor's unit for tiles (AMX): up to 32 rows times one panel
// of columns.
// Thread safety: any thread. A TileUse belongs to the thread that made it.
// Ownership: borrows everything.
//
// Panels have the layout of the micro kernels for AVX-512, and sums are narrowed as theirs. The
// rows are read as they lie in memory.
#pragma once

#include <algorithm>
#include <cstddef>

#include "kernels/matrix/gemm_quant8.h"
#include "kernels/vectors/even_pieces.h"

namespace halyard::cpudriver {

// Units that are multiplied at once: the pieces of a row have no rest.
size_t tileUnits(size_t units);
// Whether tiles take less time than vectors. A rule of sizes, not a measurement.
bool suitsTiles(const Quant8Shape& shape);

// Work of the calling thread that uses tiles. The end of the last one gives up the registers of
// tiles, so that the system need not save them.
class TileUse {
 public:
  TileUse();
  ~TileUse();
  TileUse(const TileUse&) = delete;
  TileUse& operator=(const TileUse&) = delete;

  // It takes as long as a dozen products of tiles, unless the shape is the last one's.
  void setUp(const Quant8Tiles& tiles);
};

// Calls f(row, tiles) for some rows at a time, from row `row` on. The number of rows is always the
// same. So the last ones may overlap with others, and are computed twice.
template <typename F>
void forTiles(size_t rows, size_t units, F f) {
  const size_t count = divideUp(rows, Quant8Tiles::kMostRows);
  const Quant8Tiles tiles = {divideUp(rows, count), tileUnits(units)};
  TileUse use;
  use.setUp(tiles);
  for (size_t i = 0; i < count; ++i) f(std::min(i * tiles.rows, rows - tiles.rows), tiles);
}

}  // namespace halyard::cpudriver
