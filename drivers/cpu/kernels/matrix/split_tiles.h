// Products of float matrices by a processor's unit for tiles of bfloat16 (AMX). Each float is the
// sum of two numbers of bfloat16, its high and its low part.
// Thread safety: any thread.
// Ownership: borrows everything.
//
//   x w = xh wh + xl wh + xh wl + xl wl. The last product is left out: it is some 2^-17 of the sum,
// and always of the same sign.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/matrix/gemm_float.h"
#include "kernels/matrix/tile_unit.h"

namespace halyard::cpudriver {

// Depth that is multiplied at once.
inline constexpr size_t kSplitDepth = 32;
// Places of the next factors that are fetched meanwhile: four for each product.
inline constexpr size_t kSplitFetches = 12;

struct SplitTile {
  const uint16_t* left;    // the first row: the high parts of `blocks` blocks, and the low parts
  size_t leftStride;       // elements
  const uint16_t* packed;  // by packSplitBlock, a block behind the other
  size_t blocks;           // of kSplitDepth values
  // The next factors, to be fetched meanwhile (PanelFetch): kSplitFetches steps a block.
  const std::byte* ahead;
  size_t aheadStep;
  const float* bias;  // [packed columns]
  size_t skipped;     // of the rows: the first ones, whose results are not stored
  TileResult result;  // of the first row
};

// Null members if the processor's architecture has no such unit.
struct SplitGemm {
  // Up to TileSizes::kMostRows rows times one panel, of two tiles of columns and of one.
  void (*wide)(const SplitTile& tile, const TileSizes& tiles);
  void (*narrow)(const SplitTile& tile, const TileSizes& tiles);
  // Both parts of each value.
  void (*splitRow)(const float* from, size_t count, uint16_t* high, uint16_t* low);
  // A block of a panel of `columns` packed columns, from [kSplitDepth][columns] floats to
  // 2 * kSplitDepth * columns elements.
  void (*packBlock)(const float* from, size_t columns, uint16_t* to);
};
extern const SplitGemm kSplitGemm;

}  // namespace halyard::cpudriver
