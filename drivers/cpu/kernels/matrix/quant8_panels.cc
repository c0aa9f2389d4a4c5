// Packing 8 bit weights, and the loops over panels of columns and some rows at a time.
#include "kernels/matrix/quant8_panels.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/matrix/quant8_tiles.h"
#include "kernels/vectors/even_pieces.h"

namespace halyard::cpudriver {
namespace {

// Values: less is not worth another thread.
constexpr size_t kPackedAtOnce = 16 * 1024;
constexpr size_t kSummedAtOnce = 64 * 1024;

// Stored bytes plus the shift, modulo 256, all of a unit at once.
template <size_t kUnit>
void readUnit(const Quant8Weights& weights, const uint8_t* from, uint8_t* unit) {
  constexpr uint32_t kLow = 0x7f7f7f7f;
  const uint32_t shift = static_cast<uint8_t>(weights.shift) * 0x01010101u;
  uint32_t bytes = 0;
  std::memcpy(&bytes, from, kUnit);
  bytes = ((bytes & kLow) + (shift & kLow)) ^ ((bytes ^ shift) & ~kLow);
  std::memcpy(unit, &bytes, kUnit);
}

}  // namespace

Quant8Panels::Quant8Panels(const KernelSite& site, const Quant8Gemm& gemm,
                           const Quant8Weights& weights, size_t columns)
    : gemm_(gemm),
      columns_(columns),
      depth_(site.inputs[1].elementCount() / columns),
      units_(divideUp(depth_, gemm.unitValues())),
      panels_(divideUp(columns, gemm.panelColumns)),
      result_(weights.result) {
  const size_t width = gemm_.panelColumns;
  const size_t rest = columns % width;
  hasHalfPanel_ = rest > 0 && rest <= width / 2;
  const size_t places = panels_ * width - (hasHalfPanel_ ? width / 2 : 0);
  packed_ = site.pack<uint8_t>(places * units_ * gemm_.unitValues(), [&](uint8_t* to) {
    site.divide(panels_, divideUp(kPackedAtOnce, width * depth_), [&](size_t begin, size_t end) {
      for (size_t panel = begin; panel < end; ++panel) {
        if (gemm_.unitValues() == 2) {
          packPanel<2>(weights, panel, to);
        } else {
          packPanel<4>(weights, panel, to);
        }
      }
    });
  });
  bias_ = site.pack<int32_t>(panels_ * width, [&](int32_t* to) {
    site.divide(columns, divideUp(kSummedAtOnce, depth_), [&](size_t begin, size_t end) {
      for (size_t column = begin; column < end; ++column) {
        to[placeOf(column)] = bias(weights, column);
      }
    });
  });
  site.release(1);
  multiplier_ = AlignedBuffer<float>(panels_ * width);
  for (size_t column = 0; column < columns; ++column) {
    multiplier_[placeOf(column)] = weights.multiplier[column];
  }
}

void Quant8Panels::multiply(const Quant8Rows& rows, size_t panelBegin, size_t panelEnd,
                            uint8_t* out) const {
  if (gemm_.usesTiles()) return multiplyTiles(rows, panelBegin, panelEnd, out);
  Quant8Tile tile = tileOf(rows);
  const bool isSigned = rows.isSigned && gemm_.factors != Quant8Factors::WIDE;
  const auto& micros = !rows.pieces.empty() ? gemm_.pieces
                       : isSigned           ? gemm_.signedLeft
                                            : gemm_.unsignedLeft;
  for (size_t panel = panelBegin; panel < panelEnd; ++panel) {
    setPanel(panel, &tile);
    const auto& micro = isHalf(panel) ? micros.half : micros.whole;
    const size_t most = isHalf(panel) ? gemm_.maxHalfRows : gemm_.maxRows;
    forEvenPieces(rows.count, most, [&](size_t begin, size_t count) {
      tile.left = rows.first + begin * rows.stride;
      tile.rowTerms = rows.terms != nullptr ? rows.terms + begin : nullptr;
      tile.out = out + begin * columns_ + panel * gemm_.panelColumns;
      micro[count](tile);
    });
  }
}

// All panels for some rows at a time, which stay in the first-level cache.
void Quant8Panels::multiplyTiles(const Quant8Rows& rows, size_t panelBegin, size_t panelEnd,
                                 uint8_t* out) const {
  Quant8Tile tile = tileOf(rows);
  const auto& micros = rows.isSigned ? gemm_.signedTiles : gemm_.unsignedTiles;
  forTiles(rows.count, tileUnits(tile.units), [&](size_t begin, const TileSizes& tiles) {
    tile.left = rows.first + begin * rows.stride;
    tile.rowTerms = rows.terms != nullptr ? rows.terms + begin : nullptr;
    for (size_t panel = panelBegin; panel < panelEnd; ++panel) {
      setPanel(panel, &tile);
      tile.out = out + begin * columns_ + panel * gemm_.panelColumns;
      (isHalf(panel) ? micros.half : micros.whole)(tile, tiles);
    }
  });
}

Quant8Tile Quant8Panels::tileOf(const Quant8Rows& rows) const {
  Quant8Tile tile;
  tile.leftStride = rows.stride;
  tile.pieces = rows.pieces.data();
  tile.pieceCount = std::max<size_t>(rows.pieces.size(), 1);
  tile.units = units_ / tile.pieceCount;
  tile.result = result_;
  tile.outStride = columns_;
  return tile;
}

void Quant8Panels::setPanel(size_t panel, Quant8Tile* tile) const {
  const size_t column = panel * gemm_.panelColumns;
  tile->packed = packed_.data() + column * units_ * gemm_.unitValues();
  tile->bias = bias_.data() + column;
  tile->multiplier = multiplier_.data() + column;
  tile->columns = std::min(gemm_.panelColumns, columns_ - column);
}

size_t Quant8Panels::placeOf(size_t column) const {
  const size_t width = gemm_.panelColumns;
  if (isHalf(column / width)) return column;
  return column / width * width + placeInPanel(column % width, width);
}

// `packed` is where all begin; it holds zeros.
template <size_t kUnit>
void Quant8Panels::packPanel(const Quant8Weights& weights, size_t panel, uint8_t* packed) const {
  const size_t begin = panel * gemm_.panelColumns;
  const size_t count = std::min(gemm_.panelColumns, columns_ - begin);
  const size_t width = widthOf(panel);
  const uint8_t* const from = weights.stored + begin * depth_;
  uint8_t* const to = packed + begin * units_ * kUnit;
  if (count == width && depth_ % kUnit == 0) {
    return packWholePanel(weights, panel, from, to);
  }
  std::vector<size_t> places;
  for (size_t c = 0; c < count; ++c) places.push_back((placeOf(begin + c) - begin) * kUnit);
  // The columns of a unit lie side by side, so that all of a panel are written at a time.
  for (size_t unit = 0; unit < units_; ++unit) {
    const size_t k = unit * kUnit;
    const size_t values = std::min(kUnit, depth_ - k);
    uint8_t* const line = to + unit * width * kUnit;
    for (size_t c = 0; c < count; ++c) {
      uint8_t unitValues[kUnit] = {};
      if (values == kUnit) {
        readUnit<kUnit>(weights, from + c * depth_ + k, unitValues);
      } else {
        for (size_t i = 0; i < values; ++i) {
          unitValues[i] = static_cast<uint8_t>(weights.value((begin + c) * depth_ + k + i));
        }
      }
      std::memcpy(line + places[c], unitValues, sizeof(unitValues));
    }
  }
}

// Columns of whole units, as many as the panel has. Some columns at a time, whose places are
// neighbours, form a matrix of units that is transposed.
void Quant8Panels::packWholePanel(const Quant8Weights& weights, size_t panel, const uint8_t* from,
                                  uint8_t* to) const {
  constexpr size_t kColumns = 4;
  constexpr size_t kUnitsAtOnce = 64;  // of which all columns' stay in the first-level cache
  const size_t begin = panel * gemm_.panelColumns;
  const size_t width = widthOf(panel);
  const size_t unitBytes = gemm_.unitValues();
  const auto shift = static_cast<uint8_t>(weights.shift);
  for (size_t unit = 0; unit < units_; unit += kUnitsAtOnce) {
    const size_t units = std::min(kUnitsAtOnce, units_ - unit);
    uint8_t* const lines = to + unit * width * unitBytes;
    for (size_t c = 0; c < width; c += kColumns) {
      const uint8_t* const columns = from + c * depth_ + unit * unitBytes;
      uint8_t* const places = lines + (placeOf(begin + c) - begin) * unitBytes;
      packUnits(gemm_, columns, depth_, kColumns, units, places, width);
    }
    if (shift == 0) continue;
    for (size_t i = 0; i < units * width * unitBytes; ++i) {
      lines[i] = static_cast<uint8_t>(lines[i] + shift);
    }
  }
}

// Less the input's zero point times the real sum of the column's weights.
int32_t Quant8Panels::bias(const Quant8Weights& weights, size_t column) const {
  const uint32_t sum = weights.sum(column * depth_, depth_);
  return static_cast<int32_t>(static_cast<uint32_t>(weights.bias[column]) -
                              static_cast<uint32_t>(weights.inputZeroPoint) * sum);
}

}  // namespace halyard::cpudriver
