// The use of a processor's unit for tiles (AMX): products of up to 32 rows and 32 columns at a
// time. Thread safety: any thread. A TileUse belongs to the thread that made it. Ownership: nothing
// is owned.
#pragma once

#include <algorithm>
#include <cstddef>

#include "kernels/vectors/even_pieces.h"

namespace halyard::cpudriver {

// Some rows of a product. Tiles 0 to 3 are sums of 32 bits: two of rows by two of columns. 4 and 5
// are of the left side, 6 and 7 of the packed right side.
struct TileSizes {
  static constexpr size_t kMostRows = 32;  // of two tiles
  static constexpr size_t kMostUnits = 16;
  static constexpr size_t kColumns = 16;  // of a tile of sums

  size_t rows;
  size_t units;  // of 4 bytes, that are multiplied at once

  // The rows of the first tile, and of the second, which may be missing.
  size_t first() const { return rows <= kMostRows / 2 ? rows : (rows + 1) / 2; }
  size_t second() const { return rows - first(); }
};

// Work of the calling thread that uses tiles. The end of the last one gives up the registers of
// tiles, so that the system need not save them.
class TileUse {
 public:
  TileUse();
  ~TileUse();
  TileUse(const TileUse&) = delete;
  TileUse& operator=(const TileUse&) = delete;

  // It takes as long as a dozen products of tiles, unless the sizes are the last ones.
  void setUp(const TileSizes& tiles);
};

// Calls f(row, tiles) for some rows at a time, from row `row` on. The number of rows is always the
// same. So the last ones may overlap with others, and are computed twice.
template <typename F>
void forTiles(size_t rows, size_t units, F f) {
  const size_t count = divideUp(rows, TileSizes::kMostRows);
  const TileSizes tiles = {divideUp(rows, count), units};
  TileUse use;
  use.setUp(tiles);
  for (size_t i = 0; i < count; ++i) f(std::min(i * tiles.rows, rows - tiles.rows), tiles);
}

}  // namespace halyard::cpudriver
