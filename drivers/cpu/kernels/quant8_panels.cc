// Packing 8 bit weights, and the loops over panels of columns and some rows at a time.
#include "kernels/quant8_panels.h"

#include <algorithm>

#include "kernels/even_pieces.h"

namespace halyard::cpudriver {

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
  packed_ = site.pack<uint8_t>(places * units_ * 4, [&](uint8_t* to) {
    for (size_t column = 0; column < columns; ++column) {
      if (gemm_.factors == Quant8Factors::WIDE) {
        packColumn(weights, column, reinterpret_cast<int16_t*>(to));
      } else {
        packColumn(weights, column, to);
      }
    }
  });
  bias_ = site.pack<int32_t>(panels_ * width, [&](int32_t* to) {
    for (size_t column = 0; column < columns; ++column) to[placeOf(column)] = bias(weights, column);
  });
  site.release(1);
  multiplier_ = AlignedBuffer<float>(panels_ * width);
  for (size_t column = 0; column < columns; ++column) {
    multiplier_[placeOf(column)] = weights.multiplier[column];
  }
}

void Quant8Panels::multiply(const Quant8Rows& rows, size_t panelBegin, size_t panelEnd,
                            uint8_t* out) const {
  Quant8Tile tile;
  tile.leftStride = rows.stride;
  tile.units = units_;
  tile.result = result_;
  tile.outStride = columns_;
  const size_t width = gemm_.panelColumns;
  const bool isSigned = rows.isSigned && gemm_.factors != Quant8Factors::WIDE;
  const auto& micros = isSigned ? gemm_.signedLeft : gemm_.unsignedLeft;
  for (size_t panel = panelBegin; panel < panelEnd; ++panel) {
    const size_t column = panel * width;
    tile.packed = packed_.data() + column * units_ * 4;
    tile.bias = bias_.data() + column;
    tile.multiplier = multiplier_.data() + column;
    tile.columns = std::min(width, columns_ - column);
    const auto& micro = isHalf(panel) ? micros.half : micros.whole;
    forEvenPieces(rows.count, gemm_.maxRows, [&](size_t begin, size_t count) {
      tile.left = rows.first + begin * rows.stride;
      tile.rowTerms = rows.terms != nullptr ? rows.terms + begin : nullptr;
      tile.out = out + begin * columns_ + column;
      micro[count](tile);
    });
  }
}

size_t Quant8Panels::placeOf(size_t column) const {
  const size_t width = gemm_.panelColumns;
  if (isHalf(column / width)) return column;
  return column / width * width + placeInPanel(column % width, width);
}

template <typename T>
void Quant8Panels::packColumn(const Quant8Weights& weights, size_t column, T* packed) const {
  const size_t unit = gemm_.unitValues();
  const size_t begin = column / gemm_.panelColumns * gemm_.panelColumns;
  const size_t width =
      isHalf(column / gemm_.panelColumns) ? gemm_.panelColumns / 2 : gemm_.panelColumns;
  T* to = packed + (begin * units_ + placeOf(column) - begin) * unit;
  const int16_t* const from = weights.values.data() + column * depth_;
  for (size_t k = 0; k < depth_; k += unit, to += width * unit) {
    for (size_t i = 0; i < std::min(unit, depth_ - k); ++i) to[i] = static_cast<T>(from[k + i]);
  }
}

// Less the input's zero point times the real sum of the column's weights.
int32_t Quant8Panels::bias(const Quant8Weights& weights, size_t column) const {
  uint32_t sum = 0;
  for (size_t k = 0; k < depth_; ++k) {
    sum += static_cast<uint32_t>(weights.values[column * depth_ + k] - weights.zeroPoint);
  }
  return static_cast<int32_t>(static_cast<uint32_t>(weights.bias[column]) -
                              static_cast<uint32_t>(weights.inputZeroPoint) * sum);
}

}  // namespace halyard::cpudriver
