// One class for arithmetic of float16, and one for a unit for tiles.
#include "kernels/matrix/relaxed_panels.h"

#include <algorithm>

#include "kernels/matrix/gemm_half.h"
#include "kernels/matrix/panel_fetch.h"
#include "kernels/matrix/split_tiles.h"
#include "kernels/vectors/even_pieces.h"

namespace halyard::cpudriver {
namespace {

// Preparing rows takes the time of some columns, and an end of sums that of some depth.
constexpr size_t kLeastColumns = 32;
constexpr size_t kLeastDepth = 32;
constexpr size_t kMostDepth = size_t{1} << 16;  // a thread keeps some prepared rows
// For tiles, whose factors are twice as large. Fewer rows take less time than reading these. Fewer
// columns take less time than preparing the rows. With more depth, few rows fit the second-level
// cache, so that the factors are read again and again.
constexpr size_t kLeastTileRows = 128;
constexpr size_t kLeastTileColumns = 48;
constexpr size_t kMostTileDepth = 1536;
// Rows an even number of cache lines apart lie in few places of the first-level cache. Tiles of
// them take a fifth longer to load.
constexpr size_t kAliasing = 128;
constexpr size_t kLine = 64;
constexpr size_t kFetchedPanel = 4 * 1024;  // bytes, of the least that is fetched ahead

// The results of all tiles.
TileResult commonOf(const RelaxedResults& results) {
  return {.addend = nullptr,
          .low = results.range.min,
          .high = results.range.max,
          .out = nullptr,
          .outStride = results.outStride,
          .columns = 0};
}

// Calls f(floats, at, to) for each row and each of its pieces, which begins at value `at`.
template <typename F>
void forPieces(const PieceRows& rows, size_t depth, uint16_t* to, size_t stride, const F& f) {
  const size_t pieceDepth = depth / rows.pieces.size();
  for (size_t row = 0; row < rows.count; ++row, to += stride) {
    const auto* const from = reinterpret_cast<const float*>(rows.first + row * rows.stride);
    for (size_t piece = 0; piece < rows.pieces.size(); ++piece) {
      f(from + rows.pieces[piece], piece * pieceDepth, pieceDepth, to);
    }
  }
}

// An odd depth has one 0 more.
class HalfPanels final : public RelaxedPanels {
 public:
  HalfPanels(const HalfGemm& half, const FloatGemm& gemm, size_t columns, size_t depth)
      : RelaxedPanels(gemm, columns, depth, evenOf(depth), evenOf(depth)), half_(half) {}

  void pack(size_t panel, const float* floats, uint16_t* packed) const override {
    const size_t columns = packedColumnsOf(panel);
    uint16_t* const to = packed + placeOf(panel);
    for (size_t k = 0; k < paddedDepth(); k += 2) {
      half_.packPair(floats + k * columns, floats + (k + 1) * columns, columns, to + k * columns);
    }
  }

  void prepare(const PieceRows& rows, uint16_t* to) const override {
    forPieces(rows, depth(), to, rowStride(),
              [&](const float* from, size_t at, size_t count, uint16_t* row) {
                half_.narrowRow(from, count, row + at);
                if (at + count == depth() && depth() < paddedDepth()) row[depth()] = 0;
              });
  }

  void multiply(const uint16_t* packed, const uint16_t* rows, size_t count,
                const RelaxedResults& results) const override {
    HalfTile tile;
    tile.leftStride = rowStride();
    tile.pairs = paddedDepth() / 2;
    tile.result = commonOf(results);
    const bool fetches = placeOf(1) * sizeof(uint16_t) >= kFetchedPanel;
    for (size_t panel = results.panelBegin; panel < results.panelEnd; ++panel) {
      tile.packed = packed + placeOf(panel);
      tile.bias = results.bias + panel * width();
      tile.result.columns = columnsOf(panel);
      const Micros<HalfTile>& micro = isNarrow(panel) ? half_.narrow : half_.wide;
      PanelFetch fetch(fetches ? tile.packed + placeOf(1) : nullptr, tile.pairs,
                       2 * width() * sizeof(uint16_t), divideUp(count, micro.mostRows));
      tile.aheadStep = fetch.step();
      forEvenPieces(count, micro.mostRows, [&](size_t row, size_t taken) {
        tile.ahead = fetch.take();
        tile.left = rows + row * tile.leftStride;
        place(row, panel, results, tile.result);
        micro.forRows[taken](tile);
      });
    }
  }

 private:
  static size_t evenOf(size_t depth) { return 2 * divideUp(depth, 2); }

  const HalfGemm& half_;
};

// Depths are whole blocks, with zeros behind the values.
class SplitPanels final : public RelaxedPanels {
 public:
  SplitPanels(const FloatGemm& gemm, size_t columns, size_t depth)
      : RelaxedPanels(gemm, columns, depth, paddedOf(depth), 2 * paddedOf(depth)) {}

  void pack(size_t panel, const float* floats, uint16_t* packed) const override {
    const size_t columns = packedColumnsOf(panel);
    uint16_t* const to = packed + placeOf(panel);
    for (size_t k = 0; k < paddedDepth(); k += kSplitDepth) {
      kSplitGemm.packBlock(floats + k * columns, columns, to + 2 * k * columns);
    }
  }

  void prepare(const PieceRows& rows, uint16_t* to) const override {
    const size_t padded = paddedDepth();
    forPieces(rows, depth(), to, rowStride(),
              [&](const float* from, size_t at, size_t count, uint16_t* row) {
                kSplitGemm.splitRow(from, count, row + at, row + padded + at);
                if (at + count < depth()) return;
                std::fill(row + depth(), row + padded, uint16_t{0});
                std::fill(row + padded + depth(), row + 2 * padded, uint16_t{0});
              });
  }

  void multiply(const uint16_t* packed, const uint16_t* rows, size_t count,
                const RelaxedResults& results) const override {
    SplitTile tile;
    tile.leftStride = rowStride();
    tile.blocks = paddedDepth() / kSplitDepth;
    tile.result = commonOf(results);
    const TileUse use;  // of all panels
    for (size_t panel = results.panelBegin; panel < results.panelEnd; ++panel) {
      tile.packed = packed + placeOf(panel);
      tile.bias = results.bias + panel * width();
      tile.result.columns = columnsOf(panel);
      const auto multiplyTile = isNarrow(panel) ? kSplitGemm.narrow : kSplitGemm.wide;
      PanelFetch fetch(tile.packed + placeOf(1), tile.blocks * kSplitFetches,
                       2 * kSplitDepth * width() * sizeof(uint16_t) / kSplitFetches,
                       divideUp(count, TileSizes::kMostRows));
      tile.aheadStep = fetch.step();
      size_t done = 0;
      forTiles(count, TileSizes::kMostUnits, [&](size_t row, const TileSizes& tiles) {
        tile.left = rows + row * tile.leftStride;
        // Results may be in the place of their addends, so that each is stored once.
        tile.skipped = done - row;
        place(row, panel, results, tile.result);
        tile.ahead = fetch.take();
        multiplyTile(tile, tiles);
        done = row + tiles.rows;
      });
    }
  }

 private:
  static size_t paddedOf(size_t depth) { return kSplitDepth * divideUp(depth, kSplitDepth); }
};

}  // namespace

RelaxedPanels::RelaxedPanels(const FloatGemm& gemm, size_t columns, size_t depth,
                             size_t paddedDepth, size_t elements)
    : gemm_(gemm),
      columns_(columns),
      depth_(depth),
      paddedDepth_(paddedDepth),
      elements_(elements),
      rowStride_(elements) {
  if (elements * sizeof(uint16_t) % kAliasing == 0) rowStride_ += kLine / sizeof(uint16_t);
}

size_t RelaxedPanels::columnsOf(size_t panel) const {
  return std::min(width(), columns_ - panel * width());
}

size_t RelaxedPanels::packedElements() const {
  const size_t last = (columns_ - 1) / width();
  return placeOf(last) + packedColumnsOf(last) * elements_;
}

void RelaxedPanels::place(size_t row, size_t panel, const RelaxedResults& results,
                          TileResult& tile) const {
  const size_t at = row * results.outStride + panel * width();
  tile.out = results.out + at;
  tile.addend = results.addend == nullptr ? nullptr : results.addend + at;
}

std::unique_ptr<const RelaxedPanels> RelaxedPanels::make(ops::SimdLevel level, size_t columns,
                                                         size_t depth, size_t rows) {
  if (columns < kLeastColumns || depth < kLeastDepth || depth > kMostDepth) return nullptr;
  const FloatGemm& gemm = floatGemm(level);
  const bool suitsTiles =
      rows >= kLeastTileRows && columns >= kLeastTileColumns && depth <= kMostTileDepth;
  if (level == ops::SimdLevel::AMX && suitsTiles) {
    return std::make_unique<SplitPanels>(gemm, columns, depth);
  }
  const HalfGemm* const half = halfGemm(level);
  if (half == nullptr) return nullptr;
  return std::make_unique<HalfPanels>(*half, gemm, columns, depth);
}

}  // namespace halyard::cpudriver
