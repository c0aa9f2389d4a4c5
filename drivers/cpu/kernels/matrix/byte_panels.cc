// Packing, and the loops over panels and some rows at a time.
#include "kernels/matrix/byte_panels.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "kernels/matrix/panel_fetch.h"
#include "kernels/matrix/quant8_tiles.h"
#include "kernels/vectors/even_pieces.h"
#include "ops/simd.h"

namespace halyard::cpudriver {
namespace {

constexpr size_t kPackedAtOnce = 16 * 1024;  // values: less is not worth another thread
constexpr size_t kFetchedPanel = 4 * 1024;   // bytes, of the least that is fetched ahead
constexpr size_t kLeastTileRows = 8;         // fewer leave most of a tile unused
// With more products a sum might not fit 32 bits.
constexpr size_t kMostDepth = std::numeric_limits<int32_t>::max() / (255 * 128);

HALYARD_ALWAYS_INLINE void addUp(const int8_t* values, size_t count, int32_t* to) {
  int32_t sum = 0;
  for (size_t i = 0; i < count; ++i) sum += values[i];
  *to = sum;
}

// Makes the tile that of the rows from row `begin` on. `out`: of the first row.
void takeRows(size_t begin, const ByteRows& rows, size_t column, float* out, Quant8RealTile& tile) {
  tile.sums.left = rows.first + begin * rows.stride;
  tile.rowStep = rows.steps + begin;
  tile.rowZero = rows.zeros + begin;
  const size_t at = begin * tile.result.outStride + column;
  tile.result.out = out + at;
  tile.result.addend = rows.addend == nullptr ? nullptr : rows.addend + at;
}

}  // namespace

std::optional<BytePanels> BytePanels::make(const KernelSite& site, size_t columns) {
  const Quant8Gemm* const gemm = quant8Gemm(site.level);
  if (gemm == nullptr || !gemm->hasReal()) return std::nullopt;
  const size_t depth = site.inputs[1].elementCount() / columns;
  if (depth > kMostDepth) return std::nullopt;
  ByteColumns bytes = storedBytes(site, {1}, depth);
  if (!bytes.areThere()) {
    const float* const filter = site.floatsOf(1);
    bytes = findBytes(site, columns, depth,
                      [filter, depth](size_t column) { return filter + column * depth; });
  }
  if (!bytes.areThere()) return std::nullopt;
  return BytePanels(site, *gemm, bytes, depth);
}

BytePanels::BytePanels(const KernelSite& site, const Quant8Gemm& gemm, const ByteColumns& columns,
                       size_t depth)
    : gemm_(&gemm),
      columns_(columns.steps.size()),
      depth_(depth),
      units_(divideUp(depth_, gemm.unitValues())),
      tiles_(
          quant8Gemm(site.level, {site.outputs[0].elementCount() / columns_, divideUp(depth_, 4)})),
      panels_(divideUp(columns_, gemm.panelColumns)),
      zeros_(gemm.panelColumns) {
  if (!tiles_->usesTiles()) tiles_ = nullptr;
  const size_t width = gemm.panelColumns;
  const size_t rest = columns_ % width;
  hasHalfPanel_ = rest > 0 && rest <= width / 2;
  const size_t places = panels_ * width;
  columnSteps_ = site.pack<float>(places, [&](float* to) { std::ranges::copy(columns.steps, to); });
  std::vector<float> sums(places);
  packed_ = site.pack<uint8_t>(places * rowBytes(), [&](uint8_t* to) {
    site.divide(panels_, divideUp(kPackedAtOnce, width * depth_), [&](size_t begin, size_t end) {
      for (size_t panel = begin; panel < end; ++panel) packPanel(columns, panel, to, sums.data());
    });
  });
  columnSums_ = site.pack<float>(places, [&](float* to) { std::ranges::copy(sums, to); });
  site.release(1);
  bias_ = AlignedBuffer<float>(places);
  std::copy_n(site.inputs[2].as<float>(), columns_, bias_.data());
}

// `packed` and `sums` are where those of all panels begin; they hold zeros.
void BytePanels::packPanel(const ByteColumns& columns, size_t panel, uint8_t* packed,
                           float* sums) const {
  const size_t begin = panel * gemm_->panelColumns;
  const size_t count = std::min(gemm_->panelColumns, columns_ - begin);
  std::vector<int8_t> factors(count * rowBytes());  // zeros behind the depth
  for (size_t c = 0; c < count; ++c) {
    int8_t* const column = factors.data() + c * rowBytes();
    columns.write(begin + c, column);
    int32_t sum = 0;
    ops::runBest<&addUp>(static_cast<const int8_t*>(column), rowBytes(), &sum);
    sums[begin + c] = static_cast<float>(sum);
  }
  packUnits(*gemm_, reinterpret_cast<const uint8_t*>(factors.data()), rowBytes(), count, units_,
            packed + begin * rowBytes(), widthOf(panel));
}

void BytePanels::multiply(const ByteRows& bytes, const ops::ClampRange<float>& range,
                          size_t panelBegin, size_t panelEnd, float* out) const {
  ByteRows rows = bytes;
  if (gemm_->factors == Quant8Factors::WIDE) {
    const WideRows wide = widenRows(*gemm_, bytes.first, bytes.stride, depth_, bytes.count, false);
    rows.first = wide.first;
    rows.stride = wide.stride;
  }
  const size_t width = gemm_->panelColumns;
  Quant8RealTile tile;
  tile.sums = {.left = nullptr,
               .leftStride = rows.stride,
               .packed = nullptr,
               .units = units_,
               .bias = zeros_.data(),
               .multiplier = nullptr,
               .rowTerms = nullptr,
               .result = {},
               .out = nullptr,
               .outStride = 0,
               .columns = 0};
  tile.result.low = range.min;
  tile.result.high = range.max;
  tile.result.outStride = columns_;
  const TileUse use;  // of all panels
  for (size_t panel = panelBegin; panel < panelEnd; ++panel) {
    const size_t column = panel * width;
    tile.sums.packed = packed_.data() + column * rowBytes();
    tile.columnStep = columnSteps_.data() + column;
    tile.columnSum = columnSums_.data() + column;
    tile.bias = bias_.data() + column;
    tile.result.columns = std::min(width, columns_ - column);
    if (tiles_ != nullptr && rows.count >= kLeastTileRows) {
      // Sums may be in the place of their addends, so that each is stored once.
      const auto multiply = isHalf(panel) ? tiles_->realTiles.half : tiles_->realTiles.whole;
      size_t done = 0;
      forTiles(rows.count, tileUnits(units_), [&](size_t begin, const TileSizes& sizes) {
        takeRows(begin, rows, column, out, tile);
        multiply(tile, sizes, done - begin);
        done = begin + sizes.rows;
      });
      continue;
    }
    const auto& micro = isHalf(panel) ? gemm_->real.half : gemm_->real.whole;
    const size_t most = isHalf(panel) ? gemm_->maxHalfRows : gemm_->maxRows;
    const size_t stepBytes = width * gemm_->unitValues();
    const bool fetches = units_ * stepBytes >= kFetchedPanel;
    PanelFetch fetch(fetches ? tile.sums.packed + units_ * stepBytes : nullptr, units_, stepBytes,
                     divideUp(rows.count, most));
    tile.aheadStep = fetch.step();
    forEvenPieces(rows.count, most, [&](size_t begin, size_t count) {
      takeRows(begin, rows, column, out, tile);
      tile.ahead = fetch.take();
      micro[count](tile);
    });
  }
}

}  // namespace halyard::cpudriver
