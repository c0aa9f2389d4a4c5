// Packing weights into panels, and the loops over tiles of rows and panels of columns.
#include "kernels/matrix_layer.h"

#include <algorithm>
#include <vector>

#include "kernels/aligned_buffer.h"
#include "kernels/gemm_float.h"
#include "kernels/gemm_quant8.h"
#include "kernels/quant8_weights.h"

namespace halyard::cpudriver {
namespace {

constexpr size_t divideUp(size_t value, size_t by) { return (value + by - 1) / by; }

// A tile of gathered rows stays in the second-level cache, beside the panels that stream through.
constexpr size_t kTileBytes = 128 * 1024;
constexpr size_t kMaxTileRows = 192;
constexpr size_t kWantedItems = 8;  // for the threads to share

// `rows` in pieces of at most `most` that differ by one at most: calls f(begin, count).
template <typename F>
void forEvenPieces(size_t rows, size_t most, F f) {
  const size_t pieces = divideUp(rows, most);
  for (size_t i = 0, begin = 0; i < pieces; ++i) {
    const size_t end = rows * (i + 1) / pieces;
    f(begin, end - begin);
    begin = end;
  }
}

class FloatLayer final : public MatrixLayer {
 public:
  FloatLayer(const KernelSite& site, size_t columns, ops::FuseCode activation)
      : gemm_(floatGemm(site.level)),
        columns_(columns),
        depth_(site.inputs[1].elementCount() / columns),
        range_(ops::activationRange(activation)) {
    const size_t width = gemm_.panelColumns;
    depthBytes_ = depth_ * sizeof(float);
    rowGranularity_ = sizeof(float);
    outputRowBytes_ = columns * sizeof(float);
    panels_ = divideUp(columns, width);
    packed_ = site.pack<float>(panels_ * width * depth_, [&](float* to) { pack(site, to); });
    site.release(1);
    bias_ = AlignedBuffer<float>(panels_ * width);
    std::copy_n(site.inputs[2].as<float>(), columns, bias_.data());
  }

  void multiply(const std::byte* left, size_t stride, size_t rows, size_t panelBegin,
                size_t panelEnd, std::byte* out) const override {
    const size_t width = gemm_.panelColumns;
    FloatTile tile;
    tile.leftStride = stride / sizeof(float);
    tile.depth = depth_;
    tile.low = range_.min;
    tile.high = range_.max;
    tile.outStride = columns_;
    for (size_t panel = panelBegin; panel < panelEnd; ++panel) {
      const size_t column = panel * width;
      tile.packed = packed_.data() + column * depth_;
      tile.bias = bias_.data() + column;
      tile.columns = std::min(width, columns_ - column);
      forEvenPieces(rows, gemm_.maxRows, [&](size_t begin, size_t count) {
        tile.left = reinterpret_cast<const float*>(left + begin * stride);
        tile.out = reinterpret_cast<float*>(out) + begin * columns_ + column;
        gemm_.micro[count](tile);
      });
    }
  }

 private:
  void pack(const KernelSite& site, float* packed) const {
    const size_t width = gemm_.panelColumns;
    const auto* const filter = site.inputs[1].as<float>();
    for (size_t column = 0; column < columns_; ++column) {
      float* const to = packed + column / width * width * depth_ + column % width;
      for (size_t k = 0; k < depth_; ++k) to[k * width] = filter[column * depth_ + k];
    }
  }

  const FloatGemm& gemm_;
  const size_t columns_;
  const size_t depth_;
  const ops::ClampRange<float> range_;
  Packed<float> packed_;
  AlignedBuffer<float> bias_;
};

class Quant8Layer final : public MatrixLayer {
 public:
  Quant8Layer(const KernelSite& site, const Quant8Gemm& gemm, const Quant8Weights& weights,
              size_t columns)
      : gemm_(gemm),
        columns_(columns),
        depth_(site.inputs[1].elementCount() / columns),
        units_(divideUp(depth_, 4)),
        isSigned_(weights.isSignedInput),
        rowFactor_(-weights.zeroPoint),
        result_(weights.result) {
    const size_t width = gemm_.panelColumns;
    depthBytes_ = depth_;
    rowGranularity_ = 4;
    outputRowBytes_ = columns;
    panels_ = divideUp(columns, width);
    zero_ = static_cast<std::byte>(weights.inputZeroPoint);
    packed_ = site.pack<uint8_t>(panels_ * width * units_ * 4, [&](uint8_t* to) {
      for (size_t column = 0; column < columns; ++column) packColumn(weights, column, to);
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
    const size_t width = gemm_.panelColumns;
    const auto* const bytes = reinterpret_cast<const uint8_t*>(left);
    int32_t terms[kMaxTileRows];
    Quant8Tile tile;
    if (rowFactor_ != 0) {
      gemm_.sumRows(bytes, stride, depth_, rows, isSigned_, rowFactor_, terms);
    }
    tile.leftStride = stride;
    tile.units = units_;
    tile.result = result_;
    tile.outStride = columns_;
    const auto& micro = isSigned_ ? gemm_.signedLeft : gemm_.unsignedLeft;
    for (size_t panel = panelBegin; panel < panelEnd; ++panel) {
      const size_t column = panel * width;
      tile.packed = packed_.data() + column * units_ * 4;
      tile.bias = bias_.data() + column;
      tile.multiplier = multiplier_.data() + column;
      tile.columns = std::min(width, columns_ - column);
      forEvenPieces(rows, gemm_.maxRows, [&](size_t begin, size_t count) {
        tile.left = bytes + begin * stride;
        tile.rowTerms = rowFactor_ != 0 ? terms + begin : nullptr;
        tile.out = reinterpret_cast<uint8_t*>(out) + begin * columns_ + column;
        micro[count](tile);
      });
    }
  }

 private:
  size_t placeOf(size_t column) const {
    const size_t width = gemm_.panelColumns;
    return column / width * width + placeInPanel(column % width);
  }

  void packColumn(const Quant8Weights& weights, size_t column, uint8_t* packed) const {
    const size_t width = gemm_.panelColumns;
    uint8_t* const to =
        packed + column / width * width * units_ * 4 + placeInPanel(column % width) * 4;
    for (size_t k = 0; k < depth_; ++k) {
      to[k / 4 * width * 4 + k % 4] = weights.values[column * depth_ + k];
    }
  }

  // Less the input's zero point times the real sum of the column's weights.
  int32_t bias(const Quant8Weights& weights, size_t column) const {
    uint32_t sum = 0;
    for (size_t k = 0; k < depth_; ++k) {
      sum += static_cast<uint32_t>(weights.value(column * depth_ + k) - weights.zeroPoint);
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
  Packed<uint8_t> packed_;
  Packed<int32_t> bias_;
  AlignedBuffer<float> multiplier_;
};

// Rows [begin, end) times panels [panelBegin, panelEnd), tile by tile.
void runItem(const MatrixLayer& layer, const RowSource& source, const std::byte* input,
             size_t tileRows, size_t begin, size_t end, size_t panelBegin, size_t panelEnd,
             std::byte* output) {
  std::byte* const buffer = source.isDirect ? nullptr : threadBuffer(tileRows * source.stride);
  for (size_t row = begin; row < end; row += tileRows) {
    const size_t rows = std::min(tileRows, end - row);
    const std::byte* left = input + row * source.stride;
    if (!source.isDirect) {
      source.gather(input, row, row + rows, buffer);
      left = buffer;
    }
    layer.multiply(left, source.stride, rows, panelBegin, panelEnd,
                   output + row * layer.outputRowBytes());
  }
}

}  // namespace

std::unique_ptr<MatrixLayer> makeMatrixLayer(const KernelSite& site, size_t columns,
                                             ops::FuseCode activation) {
  if (site.inputs[0].type == OperandType::TENSOR_FLOAT32) {
    return std::make_unique<FloatLayer>(site, columns, activation);
  }
  const Quant8Gemm* const gemm = quant8Gemm(site.level);
  if (gemm == nullptr) return nullptr;
  const auto weights = readQuant8Weights(site, columns, site.inputs[1].elementCount() / columns,
                                         activation, /*flipsSigned=*/false);
  if (!weights) return nullptr;
  return std::make_unique<Quant8Layer>(site, *gemm, *weights, columns);
}

size_t shortestRowStride(const MatrixLayer& layer) {
  return divideUp(layer.depthBytes(), layer.rowGranularity()) * layer.rowGranularity();
}

size_t rowStride(const MatrixLayer& layer) {
  constexpr size_t kCacheLine = 64;
  constexpr size_t kAliasing = 2048;  // half of what a way of the cache holds
  const size_t stride = shortestRowStride(layer);
  return stride % kAliasing == 0 ? stride + kCacheLine : stride;
}

void runMatrixLayer(const MatrixLayer& layer, const RowSource& source, const std::byte* input,
                    std::byte* output, ops::KernelServices& services) {
  const size_t tileRows = std::clamp(kTileBytes / std::max<size_t>(source.stride, 1) / 12 * 12,
                                     size_t{12}, kMaxTileRows);
  const size_t pieces = divideUp(source.rows, tileRows);
  if (pieces >= kWantedItems || layer.panels() == 1) {
    const size_t itemRows = pieces >= kWantedItems
                                ? tileRows
                                : std::max<size_t>(divideUp(source.rows, kWantedItems), 12);
    services.parallelFor(divideUp(source.rows, itemRows), 1, [&](size_t begin, size_t end) {
      runItem(layer, source, input, tileRows, begin * itemRows,
              std::min(end * itemRows, source.rows), 0, layer.panels(), output);
    });
    return;
  }
  // Few rows: the threads share the panels, and what has to be gathered is gathered once.
  RowSource gathered = source;
  if (!source.isDirect) {
    auto* const rows = static_cast<std::byte*>(services.scratch(source.rows * source.stride));
    services.parallelFor(source.rows, 12, [&](size_t begin, size_t end) {
      source.gather(input, begin, end, rows + begin * source.stride);
    });
    gathered.isDirect = true;
    input = rows;
  }
  services.parallelFor(layer.panels(), 1, [&](size_t begin, size_t end) {
    runItem(layer, gathered, input, tileRows, 0, source.rows, begin, end, output);
  });
}

namespace {

class MatrixKernel final : public Kernel {
 public:
  MatrixKernel(std::unique_ptr<MatrixLayer> layer, RowSource source)
      : layer_(std::move(layer)), source_(std::move(source)) {}

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    runMatrixLayer(*layer_, source_, operands.input<std::byte>(0), operands.output<std::byte>(0),
                   services);
    return okStatus();
  }

 private:
  const std::unique_ptr<MatrixLayer> layer_;
  const RowSource source_;
};

}  // namespace

std::unique_ptr<Kernel> makeMatrixKernel(std::unique_ptr<MatrixLayer> layer, RowSource source) {
  return std::make_unique<MatrixKernel>(std::move(layer), std::move(source));
}

}  // namespace halyard::cpudriver
