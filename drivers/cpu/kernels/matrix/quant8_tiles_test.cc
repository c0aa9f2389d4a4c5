// Tests of the rule for the unit for tiles. The tests of layers compare its results.
#include "kernels/matrix/quant8_tiles.h"

#include <gtest/gtest.h>

namespace halyard::cpudriver {
namespace {

TEST(Quant8Tiles, UnitsAreWholeTiles) {
  EXPECT_EQ(tileUnits(128), 16u);
  EXPECT_EQ(tileUnits(24), 12u);
  EXPECT_EQ(tileUnits(33), 11u);
  EXPECT_EQ(tileUnits(7), 7u);
  EXPECT_EQ(tileUnits(29), 1u);
}

TEST(Quant8Tiles, AreTakenWhereTheySaveTime) {
  EXPECT_TRUE(suitsTiles({.rows = 196, .units = 128}));
  EXPECT_TRUE(suitsTiles({.rows = 49, .units = 48, .pieces = 3}));
  EXPECT_FALSE(suitsTiles({.rows = 1, .units = 256})) << "weights are read once";
  EXPECT_FALSE(suitsTiles({.rows = 196, .units = 4})) << "the way back takes longest";
  EXPECT_FALSE(suitsTiles({.rows = 196, .units = 29})) << "tiles of one unit";
}

#if defined(__x86_64__)
TEST(Quant8Tiles, AreOnlyForTheirInstructionSet) {
  const Quant8Shape shape = {.rows = 196, .units = 128};
  EXPECT_TRUE(quant8Gemm(ops::SimdLevel::AMX, shape)->usesTiles());
  EXPECT_FALSE(quant8Gemm(ops::SimdLevel::AVX512, shape)->usesTiles());
  EXPECT_EQ(quant8Gemm(ops::SimdLevel::AMX, {.rows = 1, .units = 256}),
            quant8Gemm(ops::SimdLevel::AVX512));
}
#endif

TEST(Quant8Tiles, CoverAllRowsAndNoOthers) {
#if defined(__x86_64__)
  if (!ops::hasSimdLevel(ops::SimdLevel::AMX)) GTEST_SKIP() << "no unit to set up";
#endif
  for (size_t rows = 1; rows < 200; ++rows) {
    size_t next = 0;
    forTiles(rows, 16, [&](size_t row, const TileSizes& tiles) {
      EXPECT_LE(row, next);
      EXPECT_LE(tiles.rows, TileSizes::kMostRows);
      EXPECT_LE(tiles.first(), 16u);
      next = row + tiles.rows;
    });
    EXPECT_EQ(next, rows);
  }
}

}  // namespace
}  // namespace halyard::cpudriver
