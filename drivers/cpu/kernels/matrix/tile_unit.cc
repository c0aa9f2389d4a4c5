// The unit's setting of each thread.
#include "kernels/matrix/tile_unit.h"

#include "ops/simd.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace halyard::cpudriver {

#if defined(__x86_64__)
namespace {

// As the instruction reads it.
struct alignas(64) Setting {
  uint8_t palette = 1;
  uint8_t startRow = 0;
  uint8_t reserved[14] = {};
  uint16_t rowBytes[16] = {};
  uint8_t rows[16] = {};
};

// Of the calling thread.
struct ThreadTiles {
  size_t uses = 0;
  size_t rows = 0;  // 0: not set up
  size_t units = 0;
};
constinit thread_local ThreadTiles threadTiles;

HALYARD_TARGET_AMX void load(const Setting& setting) {
  asm volatile("ldtilecfg %0" : : "m"(setting));
}
HALYARD_TARGET_AMX void release() { _tile_release(); }

}  // namespace

TileUse::TileUse() { ++threadTiles.uses; }

TileUse::~TileUse() {
  if (--threadTiles.uses > 0 || threadTiles.rows == 0) return;
  release();
  threadTiles.rows = 0;
}

void TileUse::setUp(const TileSizes& tiles) {
  if (threadTiles.rows == tiles.rows && threadTiles.units == tiles.units) return;
  constexpr size_t kRowBytes = 64;
  Setting setting;
  const auto set = [&](size_t tile, size_t rows, size_t bytes) {
    setting.rows[tile] = static_cast<uint8_t>(rows);
    setting.rowBytes[tile] = static_cast<uint16_t>(rows == 0 ? 0 : bytes);
  };
  set(0, tiles.first(), kRowBytes);
  set(1, tiles.first(), kRowBytes);
  set(2, tiles.second(), kRowBytes);
  set(3, tiles.second(), kRowBytes);
  set(4, tiles.first(), 4 * tiles.units);
  set(5, tiles.second(), 4 * tiles.units);
  set(6, tiles.units, kRowBytes);
  set(7, tiles.units, kRowBytes);
  load(setting);
  threadTiles.rows = tiles.rows;
  threadTiles.units = tiles.units;
}
#else
TileUse::TileUse() = default;
TileUse::~TileUse() {}
void TileUse::setUp(const TileSizes&) {}
#endif

}  // namespace halyard::cpudriver
