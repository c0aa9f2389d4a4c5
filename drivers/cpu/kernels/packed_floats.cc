// Panels of two vectors of columns.
#include "kernels/packed_floats.h"

#include <algorithm>

#include "kernels/even_pieces.h"

namespace halyard::cpudriver {
namespace {

constexpr size_t kLargePanel = 32 * 1024;          // bytes
constexpr size_t kCacheLine = 64 / sizeof(float);  // elements

}  // namespace

PackedFloats::PackedFloats(const KernelSite& site, size_t columns, size_t depth,
                           const ColumnAt& columnAt, const float* bias)
    : gemm_(&floatGemm(site.level)),
      columns_(columns),
      depth_(depth),
      panels_(divideUp(columns, gemm_->panelColumns)),
      bias_(panels_ * gemm_->panelColumns) {
  const size_t width = gemm_->panelColumns;
  packed_ = site.pack<float>(panels_ * width * depth, [&](float* packed) {
    for (size_t column = 0; column < columns; ++column) {
      const float* const values = columnAt(column);
      float* const to = packed + column / width * width * depth + column % width;
      for (size_t k = 0; k < depth; ++k) to[k * width] = values[k];
    }
  });
  if (bias != nullptr) std::copy_n(bias, columns, bias_.data());
}

void PackedFloats::multiply(const PieceRows& rows, const ops::ClampRange<float>& range,
                            size_t panelBegin, size_t panelEnd, float* out,
                            size_t outStride) const {
  const size_t width = gemm_->panelColumns;
  FloatTile tile;
  tile.leftStride = rows.stride / sizeof(float);
  tile.pieces = rows.pieces.data();
  tile.pieceCount = rows.pieces.size();
  tile.depth = depth_ / tile.pieceCount;
  tile.low = range.min;
  tile.high = range.max;
  tile.outStride = outStride;
  const auto* const addend = reinterpret_cast<const float*>(rows.addend);
  for (size_t panel = panelBegin; panel < panelEnd; ++panel) {
    const size_t column = panel * width;
    tile.packed = packed_.data() + column * depth_;
    tile.bias = bias_.data() + column;
    tile.columns = std::min(width, columns_ - column);
    const FloatMicros& micro = gemm_->microsFor(tile.columns, tile.pieceCount);
    // The next panel, if it is not in the second-level cache by itself. It is most often the same
    // thread's, also behind the last one.
    const float* ahead = panel + 1 < panels_ && width * depth_ * sizeof(float) >= kLargePanel
                             ? tile.packed + width * depth_
                             : nullptr;
    const float* const aheadEnd = tile.packed + 2 * width * depth_;
    forEvenPieces(rows.count, gemm_->maxRows, [&](size_t begin, size_t count) {
      tile.ahead = ahead;
      if (ahead != nullptr) ahead += depth_ * kCacheLine;
      if (ahead >= aheadEnd) ahead = nullptr;
      tile.left = reinterpret_cast<const float*>(rows.first + begin * rows.stride);
      tile.out = out + begin * outStride + column;
      tile.addend = addend == nullptr ? nullptr : addend + begin * outStride + column;
      micro[count](tile);
    });
  }
}

}  // namespace halyard::cpudriver
