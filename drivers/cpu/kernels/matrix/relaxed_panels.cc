// One class for arithmetic of float16, and one for a unit for tiles.
#include "kernels/matrix/relaxed_panels.h"

#include <algorithm>
#include <vector>

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
// Fewer leave most of a tile unused.
constexpr size_t kLeastTileRows = 12;
// Rows that are a multiple of this many bytes apart lie in the same few places of the first-level
// cache. They get a cache line between.
constexpr size_t kAliasing = 2048;
constexpr size_t kLine = 64;
constexpr size_t kPackedAtOnce = 8 * 1024;  // values: less is not worth another thread
constexpr size_t kFetchedPanel = 4 * 1024;  // bytes, of the least that is fetched ahead

// Panels of `width` columns, of which the last one may have less, and is packed as half a panel if
// these are enough.
class Panels {
 public:
  Panels(const FloatGemm& gemm, size_t columns)
      : gemm_(gemm), columns_(columns), count_(divideUp(columns, gemm.panelColumns)) {}

  size_t width() const { return gemm_.panelColumns; }
  size_t columnsOf(size_t panel) const { return std::min(width(), columns_ - panel * width()); }
  bool isNarrow(size_t panel) const { return gemm_.isNarrow(columnsOf(panel)); }
  // Of all panels.
  size_t packedColumns() const {
    return (count_ - 1) * width() + gemm_.packedColumns(columnsOf(count_ - 1));
  }
  // Makes `tile` that of the rows from row `row` on. Its other results are there.
  void place(size_t row, size_t panel, const RelaxedResults& results, TileResult& tile) const {
    const size_t at = row * results.outStride + panel * width();
    tile.out = results.out + at;
    tile.addend = results.addend == nullptr ? nullptr : results.addend + at;
  }

  // `elements` for each packed column. Packs with `pack(floats, columns, to)`, whose floats are
  // [depth][columns], with zeros behind the matrix.
  template <typename Pack>
  Packed<uint16_t> packed(const KernelSite& site, const ColumnAt& columnAt, size_t depth,
                          size_t paddedDepth, size_t elements, const Pack& pack) const {
    return site.pack<uint16_t>(packedColumns() * elements, [&](uint16_t* to) {
      site.divide(count_, divideUp(kPackedAtOnce, width() * depth), [&](size_t begin, size_t end) {
        for (size_t panel = begin; panel < end; ++panel) {
          const size_t first = panel * width();
          const size_t columns = gemm_.packedColumns(columnsOf(panel));
          std::vector<float> floats(columns * paddedDepth);
          packPanel(columnAt, first, first + columnsOf(panel), depth, columns, floats.data());
          pack(floats.data(), columns, to + first * elements);
        }
      });
    });
  }

 private:
  const FloatGemm& gemm_;
  size_t columns_;
  size_t count_;
};

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
  HalfPanels(const KernelSite& site, const HalfGemm& half, const Panels& panels, size_t depth,
             const ColumnAt& columnAt)
      : RelaxedPanels(evenOf(depth)),
        half_(half),
        panels_(panels),
        depth_(depth),
        even_(evenOf(depth)),
        packed_(panels.packed(site, columnAt, depth, even_, even_,
                              [&](const float* floats, size_t columns, uint16_t* to) {
                                for (size_t k = 0; k < even_; k += 2) {
                                  half_.packPair(floats + k * columns, floats + (k + 1) * columns,
                                                 columns, to + k * columns);
                                }
                              })) {}

  size_t packedBytes() const override { return packed_.size() * sizeof(uint16_t); }

  void prepare(const PieceRows& rows, uint16_t* to) const override {
    forPieces(rows, depth_, to, rowStride(),
              [&](const float* from, size_t at, size_t count, uint16_t* row) {
                half_.narrowRow(from, count, row + at);
                if (at + count == depth_ && depth_ < even_) row[depth_] = 0;
              });
  }

  void multiply(const uint16_t* rows, size_t count, const RelaxedResults& results) const override {
    HalfTile tile;
    tile.leftStride = rowStride();
    tile.pairs = even_ / 2;
    tile.result = commonOf(results);
    const size_t width = panels_.width();
    const bool fetches = width * even_ * sizeof(uint16_t) >= kFetchedPanel;
    for (size_t panel = results.panelBegin; panel < results.panelEnd; ++panel) {
      tile.packed = packed_.data() + panel * width * even_;
      tile.bias = results.bias + panel * width;
      tile.result.columns = panels_.columnsOf(panel);
      const Micros<HalfTile>& micro = panels_.isNarrow(panel) ? half_.narrow : half_.wide;
      PanelFetch fetch(fetches ? tile.packed + width * even_ : nullptr, tile.pairs,
                       2 * width * sizeof(uint16_t), divideUp(count, micro.mostRows));
      tile.aheadStep = fetch.step();
      forEvenPieces(count, micro.mostRows, [&](size_t row, size_t taken) {
        tile.ahead = fetch.take();
        tile.left = rows + row * tile.leftStride;
        panels_.place(row, panel, results, tile.result);
        micro.forRows[taken](tile);
      });
    }
  }

 private:
  static size_t evenOf(size_t depth) { return 2 * divideUp(depth, 2); }

  const HalfGemm& half_;
  const Panels panels_;
  const size_t depth_;
  const size_t even_;
  const Packed<uint16_t> packed_;
};

// Depths are whole blocks, with zeros behind the values.
class SplitPanels final : public RelaxedPanels {
 public:
  SplitPanels(const KernelSite& site, const Panels& panels, size_t depth, const ColumnAt& columnAt)
      : RelaxedPanels(2 * paddedOf(depth)),
        panels_(panels),
        depth_(depth),
        padded_(paddedOf(depth)),
        packed_(panels.packed(site, columnAt, depth, padded_, 2 * padded_,
                              [&](const float* floats, size_t columns, uint16_t* to) {
                                for (size_t k = 0; k < padded_; k += kSplitDepth) {
                                  kSplitGemm.packBlock(floats + k * columns, columns,
                                                       to + 2 * k * columns);
                                }
                              })) {}

  size_t packedBytes() const override { return packed_.size() * sizeof(uint16_t); }

  void prepare(const PieceRows& rows, uint16_t* to) const override {
    forPieces(rows, depth_, to, rowStride(),
              [&](const float* from, size_t at, size_t count, uint16_t* row) {
                kSplitGemm.splitRow(from, count, row + at, row + padded_ + at);
                if (at + count < depth_) return;
                std::fill(row + depth_, row + padded_, uint16_t{0});
                std::fill(row + padded_ + depth_, row + 2 * padded_, uint16_t{0});
              });
  }

  void multiply(const uint16_t* rows, size_t count, const RelaxedResults& results) const override {
    SplitTile tile;
    tile.leftStride = rowStride();
    tile.blocks = padded_ / kSplitDepth;
    tile.result = commonOf(results);
    const TileUse use;  // of all panels
    for (size_t panel = results.panelBegin; panel < results.panelEnd; ++panel) {
      tile.packed = packed_.data() + panel * panels_.width() * 2 * padded_;
      tile.bias = results.bias + panel * panels_.width();
      tile.result.columns = panels_.columnsOf(panel);
      const auto multiplyTile = panels_.isNarrow(panel) ? kSplitGemm.narrow : kSplitGemm.wide;
      size_t done = 0;
      forTiles(count, TileSizes::kMostUnits, [&](size_t row, const TileSizes& tiles) {
        tile.left = rows + row * tile.leftStride;
        // Results may be in the place of their addends, so that each is stored once.
        tile.skipped = done - row;
        panels_.place(row, panel, results, tile.result);
        multiplyTile(tile, tiles);
        done = row + tiles.rows;
      });
    }
  }

 private:
  static size_t paddedOf(size_t depth) { return kSplitDepth * divideUp(depth, kSplitDepth); }

  const Panels panels_;
  const size_t depth_;
  const size_t padded_;
  const Packed<uint16_t> packed_;
};

}  // namespace

RelaxedPanels::RelaxedPanels(size_t elements) : rowStride_(elements) {
  if (elements * sizeof(uint16_t) % kAliasing == 0) rowStride_ += kLine / sizeof(uint16_t);
}

std::unique_ptr<const RelaxedPanels> RelaxedPanels::make(const KernelSite& site, size_t columns,
                                                         size_t depth, const ColumnAt& columnAt,
                                                         size_t rows) {
  if (!site.isRelaxed || columns < kLeastColumns || depth < kLeastDepth || depth > kMostDepth) {
    return nullptr;
  }
  const Panels panels(floatGemm(site.level), columns);
  if (site.level == ops::SimdLevel::AMX && rows >= kLeastTileRows) {
    return std::make_unique<SplitPanels>(site, panels, depth, columnAt);
  }
  const HalfGemm* const half = halfGemm(site.level);
  if (half == nullptr) return nullptr;
  return std::make_unique<HalfPanels>(site, *half, panels, depth, columnAt);
}

}  // namespace halyard::cpudriver
