// Panels of two vectors of columns.
#include "kernels/matrix/packed_floats.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/matrix/panel_fetch.h"
#include "kernels/vectors/even_pieces.h"
#include "ops/transpose_block.h"

namespace halyard::cpudriver {
namespace {

constexpr size_t kFetchedPanel = 4 * 1024;  // bytes, of the least that is fetched ahead
// A row waits only for its weights. From a second-level cache the processor fetches them well by
// itself, and from further away it does not. The cache may hold layers below this many bytes.
constexpr size_t kFetchedForRow = 512 * 1024;
constexpr size_t kPackedAtOnce = 8 * 1024;  // values: less is not worth another thread
// Values of the least matrix that is packed as bytes. As floats, a smaller one stays in the
// second-level cache.
constexpr size_t kLeastOfBytes = 128 * 1024;
constexpr size_t kMostDepthOfBytes = size_t{1} << 16;  // a thread keeps a panel of it as floats
constexpr size_t kWidenedRows = 16;  // of the least product that is worth widening the bytes
// Of rows that are prepared at once, between so many rows.
constexpr size_t kPreparedBytes = size_t{1} << 20;
constexpr size_t kLeastPrepared = 32;
constexpr size_t kMostPrepared = 224;

}  // namespace

PackedFloats::PackedFloats(const KernelSite& site, size_t columns, size_t depth, const float* bias)
    : gemm_(&floatGemm(site.level)),
      columns_(columns),
      depth_(depth),
      panels_(divideUp(columns, gemm_->panelColumns)),
      bias_(panels_ * gemm_->panelColumns) {
  if (bias != nullptr) std::copy_n(bias, columns, bias_.data());
}

PackedFloats::PackedFloats(const KernelSite& site, size_t columns, size_t depth,
                           const ColumnAt& columnAt, const float* bias, size_t rows,
                           bool mayBeBytes)
    : PackedFloats(site, columns, depth, bias) {
  if (mayBeBytes && suitsBytes(columns, depth, rows)) {
    const ByteColumns bytes = findBytes(site, columns, depth, columnAt);
    if (bytes.areThere()) {
      packBytes(site, bytes);
      return;
    }
  }
  if (site.isRelaxed) relaxed_ = RelaxedPanels::make(site.level, columns, depth, rows);
  relaxed_ != nullptr ? packRelaxed(site, columnAt) : packFloats(site, columnAt);
}

PackedFloats PackedFloats::ofInputs(const KernelSite& site, const std::vector<size_t>& inputs,
                                    size_t columns, size_t depth, const float* bias, size_t rows,
                                    bool mayBeBytes) {
  const size_t allColumns = inputs.size() * columns;
  ByteColumns bytes;
  if (mayBeBytes && suitsBytes(allColumns, depth, rows)) bytes = storedBytes(site, inputs, depth);
  PackedFloats packed;
  if (bytes.areThere()) {
    packed = PackedFloats(site, allColumns, depth, bias);
    packed.packBytes(site, bytes);
  } else {
    std::vector<const float*> floats;
    for (const size_t input : inputs) floats.push_back(site.floatsOf(input));
    const auto columnAt = [&](size_t column) {
      return floats[column / columns] + column % columns * depth;
    };
    packed = PackedFloats(site, allColumns, depth, columnAt, bias, rows, mayBeBytes);
  }
  for (const size_t input : inputs) site.release(input);
  return packed;
}

bool PackedFloats::suitsBytes(size_t columns, size_t depth, size_t rows) {
  const bool haveRows = rows == 1 || rows >= kWidenedRows;
  return haveRows && depth <= kMostDepthOfBytes && columns * depth >= kLeastOfBytes;
}

void PackedFloats::forPanels(const KernelSite& site,
                             const std::function<void(size_t, size_t, size_t)>& pack) const {
  const size_t width = gemm_->panelColumns;
  site.divide(panels_, divideUp(kPackedAtOnce, width * depth_), [&](size_t begin, size_t end) {
    for (size_t panel = begin; panel < end; ++panel) {
      pack(panel, panel * width, std::min((panel + 1) * width, columns_));
    }
  });
}

void PackedFloats::packFloats(const KernelSite& site, const ColumnAt& columnAt) {
  packed_ = site.pack<float>(packedColumns() * depth_, [&](float* packed) {
    forPanels(site, [&](size_t panel, size_t first, size_t end) {
      packPanel(columnAt, first, end, depth_, packedColumnsOf(panel), packed + first * depth_);
    });
  });
}

void PackedFloats::packRelaxed(const KernelSite& site, const ColumnAt& columnAt) {
  relaxedFactors_ = site.pack<uint16_t>(relaxed_->packedElements(), [&](uint16_t* packed) {
    forPanels(site, [&](size_t panel, size_t first, size_t end) {
      const size_t columns = packedColumnsOf(panel);
      std::vector<float> floats(columns * relaxed_->paddedDepth());
      packPanel(columnAt, first, end, depth_, columns, floats.data());
      relaxed_->pack(panel, floats.data(), packed);
    });
  });
}

void PackedFloats::packBytes(const KernelSite& site, const ByteColumns& columns) {
  steps_ = AlignedBuffer<float>(panels_ * gemm_->panelColumns);
  std::ranges::copy(columns.steps, steps_.data());
  bytes_ = site.pack<int8_t>(packedColumns() * depth_, [&](int8_t* packed) {
    forPanels(site, [&](size_t panel, size_t first, size_t end) {
      std::vector<int8_t> factors((end - first) * depth_);
      for (size_t column = first; column < end; ++column) {
        columns.write(column, factors.data() + (column - first) * depth_);
      }
      ops::transposeBlock(factors.data(), depth_, end - first, depth_, packed + first * depth_,
                          packedColumnsOf(panel));
    });
  });
}

void PackedFloats::multiplyRowOfBytes(const PieceRows& row, const ops::ClampRange<float>& range,
                                      size_t panelBegin, size_t panelEnd, float* out) const {
  const size_t column = panelBegin * gemm_->panelColumns;
  const auto* const addend = reinterpret_cast<const float*>(row.addend);
  gemm_->byteFactorsRow(
      {.left = reinterpret_cast<const float*>(row.first) + row.pieces[0],
       .packed = bytes_.data() + column * depth_,
       .depth = depth_,
       .steps = steps_.data() + column,
       .bias = bias_.data() + column,
       .addend = addend == nullptr ? nullptr : addend + column,
       .low = range.min,
       .high = range.max,
       .out = out + column,
       .columns = std::min((panelEnd - panelBegin) * gemm_->panelColumns, columns_ - column)});
}

// In memory of the thread, until its next call.
const float* PackedFloats::widened(size_t panel) const {
  auto& buffer = threadOwned<AlignedBuffer<float>, struct WidenedPanel>();
  const size_t columns = packedColumnsOf(panel);
  if (buffer.size() < columns * depth_) buffer = AlignedBuffer<float>(columns * depth_);
  const size_t first = panel * gemm_->panelColumns;
  gemm_->widenPanel(bytes_.data() + first * depth_, steps_.data() + first, depth_, columns,
                    buffer.data());
  return buffer.data();
}

void PackedFloats::multiplyRelaxed(const PieceRows& all, RelaxedResults results) const {
  auto& buffer = threadOwned<AlignedBuffer<uint16_t>, struct PreparedRows>();
  float* const out = results.out;
  const float* const addend = results.addend;
  const size_t rowBytes = relaxed_->rowStride() * sizeof(uint16_t);
  const size_t most = std::clamp(kPreparedBytes / rowBytes, kLeastPrepared, kMostPrepared);
  forEvenPieces(all.count, most, [&](size_t begin, size_t count) {
    const size_t elements = count * relaxed_->rowStride();
    if (buffer.size() < elements) buffer = AlignedBuffer<uint16_t>(elements);
    PieceRows rows = all;
    rows.first += begin * all.stride;
    rows.count = count;
    relaxed_->prepare(rows, buffer.data());
    results.out = out + begin * results.outStride;
    if (addend != nullptr) results.addend = addend + begin * results.outStride;
    relaxed_->multiply(relaxedFactors_.data(), buffer.data(), count, results);
  });
}

void PackedFloats::multiplyPrepared(const std::byte* rows, size_t count, const std::byte* addend,
                                    const ops::ClampRange<float>& range, size_t panelBegin,
                                    size_t panelEnd, float* out, size_t outStride) const {
  relaxed_->multiply(relaxedFactors_.data(), reinterpret_cast<const uint16_t*>(rows), count,
                     {.bias = bias_.data(),
                      .addend = reinterpret_cast<const float*>(addend),
                      .range = range,
                      .panelBegin = panelBegin,
                      .panelEnd = panelEnd,
                      .out = out,
                      .outStride = outStride});
}

void PackedFloats::multiply(const PieceRows& rows, const ops::ClampRange<float>& range,
                            size_t panelBegin, size_t panelEnd, float* out,
                            size_t outStride) const {
  if (isOfBytes() && rows.count == 1 && rows.pieces.size() == 1) {
    return multiplyRowOfBytes(rows, range, panelBegin, panelEnd, out);
  }
  if (relaxed_ != nullptr) {
    return multiplyRelaxed(rows, {.bias = bias_.data(),
                                  .addend = reinterpret_cast<const float*>(rows.addend),
                                  .range = range,
                                  .panelBegin = panelBegin,
                                  .panelEnd = panelEnd,
                                  .out = out,
                                  .outStride = outStride});
  }
  const size_t width = gemm_->panelColumns;
  FloatTile tile;
  tile.leftStride = rows.stride / sizeof(float);
  tile.pieces = rows.pieces.data();
  tile.pieceCount = rows.pieces.size();
  tile.depth = depth_ / tile.pieceCount;
  tile.result.low = range.min;
  tile.result.high = range.max;
  tile.result.outStride = outStride;
  const auto* const addend = reinterpret_cast<const float*>(rows.addend);
  // One row goes through all panels at once.
  const bool isRow = rows.count == 1 && !isOfBytes();
  const size_t panels = isRow ? panelEnd - panelBegin : 1;
  const bool fetches = isRow ? columns_ * depth_ * sizeof(float) >= kFetchedForRow
                             : width * depth_ * sizeof(float) >= kFetchedPanel;
  for (size_t panel = panelBegin; panel < panelEnd; panel += panels) {
    const size_t column = panel * width;
    tile.packed = isOfBytes() ? widened(panel) : packed_.data() + column * depth_;
    tile.bias = bias_.data() + column;
    tile.result.columns = std::min(panels * width, columns_ - column);
    const FloatMicros& micro = gemm_->microsFor(tile.result.columns, tile.pieceCount);
    PanelFetch fetch(fetches && !isOfBytes() ? tile.packed + width * depth_ : nullptr, depth_,
                     width * sizeof(float), divideUp(rows.count, micro.mostRows));
    tile.aheadStep = fetch.step();
    forEvenPieces(rows.count, micro.mostRows, [&](size_t begin, size_t count) {
      tile.ahead = fetch.take();
      tile.left = reinterpret_cast<const float*>(rows.first + begin * rows.stride);
      tile.result.out = out + begin * outStride + column;
      tile.result.addend = addend == nullptr ? nullptr : addend + begin * outStride + column;
      micro.forRows[count](tile);
    });
  }
}

}  // namespace halyard::cpudriver
