// Packing weights into panels, and the loops over tiles of rows and panels of columns.
#include "kernels/matrix_layer.h"

#include <algorithm>
#include <vector>

#include "kernels/aligned_buffer.h"
#include "kernels/even_pieces.h"
#include "kernels/gemm_float.h"
#include "kernels/quant8_layer.h"

namespace halyard::cpudriver {
namespace {

// A tile of gathered rows stays in the second-level cache, beside the panels that stream through.
constexpr size_t kTileBytes = 128 * 1024;
constexpr size_t kWantedItems = 8;  // for the threads to share

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
  return makeQuant8Layer(site, columns, activation);
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
                                     size_t{12}, MatrixLayer::kMostRows);
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
