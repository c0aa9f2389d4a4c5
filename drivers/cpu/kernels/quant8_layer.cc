// Packing 8 bit weights into panels, and the loops over panels of columns and pieces of rows.
#include "kernels/quant8_layer.h"

#include <algorithm>

#include "kernels/aligned_buffer.h"
#include "kernels/even_pieces.h"
#include "kernels/gemm_quant8.h"
#include "kernels/quant8_weights.h"

namespace halyard::cpudriver {
namespace {

// For `count` values; of the calling thread, until the next call.
int16_t* wideBuffer(size_t count) {
  thread_local AlignedBuffer<int16_t> buffer;
  if (buffer.size() < count) buffer = AlignedBuffer<int16_t>(count);
  return buffer.data();
}

class Quant8Layer final : public MatrixLayer {
 public:
  Quant8Layer(const KernelSite& site, const Quant8Gemm& gemm, const Quant8Weights& weights,
              size_t columns)
      : gemm_(gemm),
        columns_(columns),
        depth_(site.inputs[1].elementCount() / columns),
        units_(divideUp(depth_, gemm.unitValues())),
        isSigned_(weights.isSignedInput),
        rowFactor_(-weights.zeroPoint),
        result_(weights.result) {
    const size_t width = gemm_.panelColumns;
    depthBytes_ = depth_;
    rowGranularity_ = isWide() ? 1 : 4;
    outputRowBytes_ = columns;
    panels_ = divideUp(columns, width);
    zero_ = static_cast<std::byte>(weights.inputZeroPoint);
    const size_t rest = columns % width;
    hasHalfPanel_ = rest > 0 && rest <= width / 2;
    const size_t places = panels_ * width - (hasHalfPanel_ ? width / 2 : 0);
    packed_ = site.pack<uint8_t>(places * units_ * 4, [&](uint8_t* to) {
      for (size_t column = 0; column < columns; ++column) {
        if (isWide()) {
          packColumn(weights, column, reinterpret_cast<int16_t*>(to));
        } else {
          packColumn(weights, column, to);
        }
      }
    });
    bias_ = site.pack<int32_t>(panels_ * width, [&](int32_t* to) {
      for (size_t column = 0; column < columns; ++column)
        to[placeOf(column)] = bias(weights, column);
    });
    site.release(1);
    multiplier_ = AlignedBuffer<float>(panels_ * width);
    for (size_t column = 0; column < columns; ++column) {
      multiplier_[placeOf(column)] = weights.multiplier[column];
    }
  }

  void multiply(const std::byte* left, size_t stride, size_t rows, size_t panelBegin,
                size_t panelEnd, std::byte* out) const override {
    const auto* bytes = reinterpret_cast<const uint8_t*>(left);
    int32_t terms[kMostRows];
    if (isWide()) {
      bytes = widen(bytes, &stride, rows);
    } else if (rowFactor_ != 0) {
      gemm_.sumRows(bytes, stride, depth_, rows, isSigned_, rowFactor_, terms);
    }
    Quant8Tile tile;
    tile.leftStride = stride;
    tile.units = units_;
    tile.result = result_;
    tile.outStride = columns_;
    const size_t width = gemm_.panelColumns;
    const auto& micros = isSigned_ && !isWide() ? gemm_.signedLeft : gemm_.unsignedLeft;
    for (size_t panel = panelBegin; panel < panelEnd; ++panel) {
      const size_t column = panel * width;
      tile.packed = packed_.data() + column * units_ * 4;
      tile.bias = bias_.data() + column;
      tile.multiplier = multiplier_.data() + column;
      tile.columns = std::min(width, columns_ - column);
      const auto& micro = isHalf(panel) ? micros.half : micros.whole;
      forEvenPieces(rows, gemm_.maxRows, [&](size_t begin, size_t count) {
        tile.left = bytes + begin * stride;
        tile.rowTerms = rowFactor_ != 0 ? terms + begin : nullptr;
        tile.out = reinterpret_cast<uint8_t*>(out) + begin * columns_ + column;
        micro[count](tile);
      });
    }
  }

 private:
  bool isWide() const { return gemm_.factors == Quant8Factors::WIDE; }

  // The rows with 16 bits for each value, and how far apart they are then, in bytes.
  const uint8_t* widen(const uint8_t* left, size_t* stride, size_t rows) const {
    constexpr size_t kAliasing = 1024;  // see rowStride
    size_t values = units_ * 2;
    if (values % kAliasing == 0) values += 32;
    int16_t* const wide = wideBuffer(rows * values);
    gemm_.widenRows(left, *stride, depth_, rows, isSigned_, wide, values);
    *stride = values * sizeof(int16_t);
    return reinterpret_cast<const uint8_t*>(wide);
  }

  bool isHalf(size_t panel) const { return hasHalfPanel_ && panel + 1 == panels_; }

  size_t placeOf(size_t column) const {
    const size_t width = gemm_.panelColumns;
    if (isHalf(column / width)) return column;
    return column / width * width + placeInPanel(column % width, width);
  }

  template <typename T>
  void packColumn(const Quant8Weights& weights, size_t column, T* packed) const {
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
  int32_t bias(const Quant8Weights& weights, size_t column) const {
    uint32_t sum = 0;
    for (size_t k = 0; k < depth_; ++k) {
      sum += static_cast<uint32_t>(weights.values[column * depth_ + k] - weights.zeroPoint);
    }
    return static_cast<int32_t>(static_cast<uint32_t>(weights.bias[column]) -
                                static_cast<uint32_t>(weights.inputZeroPoint) * sum);
  }

  const Quant8Gemm& gemm_;
  const size_t columns_;
  const size_t depth_;
  const size_t units_;
  const bool isSigned_;
  const int32_t rowFactor_;
  const Quant8Result result_;
  bool hasHalfPanel_ = false;  // the last one, of one vector
  Packed<uint8_t> packed_;
  Packed<int32_t> bias_;
  AlignedBuffer<float> multiplier_;
};

}  // namespace

std::unique_ptr<MatrixLayer> makeQuant8Layer(const KernelSite& site, size_t columns,
                                             ops::FuseCode activation) {
  const Quant8Gemm* const gemm = quant8Gemm(site.level);
  if (gemm == nullptr) return nullptr;
  const auto weights = readQuant8Weights(site, columns, site.inputs[1].elementCount() / columns,
                                         activation, {gemm->factors, Quant8Image::AS_IS});
  if (!weights) return nullptr;
  return std::make_unique<Quant8Layer>(site, *gemm, *weights, columns);
}

}  // namespace halyard::cpudriver
