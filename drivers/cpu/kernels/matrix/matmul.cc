// Products of float matrices, and how products are divided among threads.
#include "kernels/matrix/matmul.h"

#include <algorithm>
#include <cstring>

#include "kernels/matrix/gemm_float.h"
#include "kernels/vectors/aligned_buffer.h"
#include "kernels/vectors/even_pieces.h"
#include "ops/transpose_block.h"

namespace halyard::cpudriver {
namespace {

class FloatMatmulKernel final : public Kernel {
 public:
  FloatMatmulKernel(const KernelSite& site, const MatmulSizes& sizes, size_t bias,
                    ops::FuseCode activation)
      : sizes_(sizes),
        gemm_(floatGemm(site.level)),
        range_(ops::activationRange(activation)),
        stride_(matmulRowStride(sizes.depth * sizeof(float), sizeof(float)) / sizeof(float)),
        bias_(divideUp(sizes.columns, gemm_.panelColumns) * gemm_.panelColumns) {
    if (bias > 0) std::copy_n(site.inputs[bias].as<float>(), sizes.columns, bias_.data());
  }

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    const float* const left = arrangedLeft(operands.input<float>(0), services);
    const auto* const right = operands.input<float>(1);
    auto* const output = operands.output<float>(0);
    forEachMatmulItem(
        sizes_, gemm_.panelColumns, kMatmulProducts, services, [&](const MatmulItem& item) {
          const size_t width = gemm_.panelColumns;
          auto* const packed =
              reinterpret_cast<float*>(threadBuffer(width * sizes_.depth * sizeof(float)));
          packRightPanel(gemm_, sizes_, right + item.matrix * sizes_.rightElements(), item.column,
                         item.columns, packed);
          multiply(left + (item.matrix * sizes_.rows + item.rowBegin) * stride_, packed, item,
                   output + (item.matrix * sizes_.rows + item.rowBegin) * sizes_.columns);
        });
    return okStatus();
  }

 private:
  // [batch][rows][depth], rows `stride_` apart.
  const float* arrangedLeft(const float* left, ops::KernelServices& services) const {
    const size_t depth = sizes_.depth;
    const size_t rows = sizes_.rows;
    if (!sizes_.isLeftTransposed && stride_ == depth) return left;
    auto* const to =
        static_cast<float*>(services.scratch(sizes_.batch * rows * stride_ * sizeof(float)));
    if (sizes_.isLeftTransposed) {
      services.parallelFor(sizes_.batch, 1, [&](size_t begin, size_t end) {
        for (size_t m = begin; m < end; ++m) {
          ops::transposeBlock(left + m * rows * depth, rows, depth, rows, to + m * rows * stride_,
                              stride_);
        }
      });
    } else {
      services.parallelFor(sizes_.batch * rows, divideUp(kMatmulBytes, depth * sizeof(float)),
                           [&](size_t begin, size_t end) {
                             for (size_t row = begin; row < end; ++row) {
                               std::copy_n(left + row * depth, depth, to + row * stride_);
                             }
                           });
    }
    return to;
  }

  void multiply(const float* left, const float* packed, const MatmulItem& item,
                float* output) const {
    const ptrdiff_t whole = 0;
    multiplyPanel(gemm_,
                  {.left = left,
                   .leftStride = stride_,
                   .packed = packed,
                   .pieces = &whole,
                   .pieceCount = 1,
                   .depth = sizes_.depth,
                   .ahead = nullptr,
                   .aheadStep = 0,
                   .bias = bias_.data() + item.column,
                   .result = {.addend = nullptr,
                              .low = range_.min,
                              .high = range_.max,
                              .out = output + item.column,
                              .outStride = sizes_.columns,
                              .columns = item.columns}},
                  item.rowEnd - item.rowBegin);
  }

  const MatmulSizes sizes_;
  const FloatGemm& gemm_;
  const ops::ClampRange<float> range_;
  const size_t stride_;  // of the left side's rows, elements
  AlignedBuffer<float> bias_;
};

}  // namespace

void packRightPanel(const FloatGemm& gemm, const MatmulSizes& sizes, const float* right,
                    size_t column, size_t columns, float* packed) {
  const size_t width = gemm.packedColumns(columns);
  const size_t depth = sizes.depth;
  const size_t stride = sizes.rightStride();
  // Columns beyond the last are multiplied, too, though not stored.
  if (columns < width) std::fill_n(packed, width * depth, 0.0f);
  if (sizes.isRightTransposed) {
    ops::transposeBlock(right + column * stride, stride, columns, depth, packed, width);
    return;
  }
  for (size_t k = 0; k < depth; ++k) {
    std::memcpy(packed + k * width, right + k * stride + column, columns * sizeof(float));
  }
}

void multiplyPanel(const FloatGemm& gemm, FloatTile tile, size_t rows) {
  const FloatMicros& micro = gemm.microsFor(tile.result.columns, tile.pieceCount);
  const float* const left = tile.left;
  float* const out = tile.result.out;
  forEvenPieces(rows, micro.mostRows, [&](size_t begin, size_t count) {
    tile.left = left + begin * tile.leftStride;
    tile.result.out = out + begin * tile.result.outStride;
    micro.forRows[count](tile);
  });
}

void forEachMatmulItem(const MatmulSizes& sizes, size_t panelColumns, size_t productsForThread,
                       ops::KernelServices& services,
                       const std::function<void(const MatmulItem& item)>& f) {
  constexpr size_t kWantedItems = 8;
  constexpr size_t kLeastRows = 128;  // that are worth packing a panel once more
  const size_t panels = divideUp(sizes.columns, panelColumns);
  const size_t wanted = divideUp(kWantedItems, sizes.batch * panels);
  const size_t pieces = std::clamp<size_t>(sizes.rows / kLeastRows, 1, wanted);
  const size_t products = divideUp(sizes.rows, pieces) * panelColumns * sizes.depth;
  services.parallelFor(
      sizes.batch * panels * pieces, divideUp(productsForThread, std::max<size_t>(products, 1)),
      [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) {
          const size_t piece = i % pieces;
          const size_t column = i / pieces % panels * panelColumns;
          f({i / pieces / panels, column, std::min(panelColumns, sizes.columns - column),
             sizes.rows * piece / pieces, sizes.rows * (piece + 1) / pieces});
        }
      });
}

size_t matmulRowStride(size_t bytes, size_t granularity) {
  constexpr size_t kCacheLine = 64;
  constexpr size_t kAliasing = 2048;  // half of what a way of the cache holds
  const size_t stride = divideUp(bytes, granularity) * granularity;
  return stride % kAliasing == 0 ? stride + kCacheLine : stride;
}

std::unique_ptr<Kernel> makeMatmul(const KernelSite& site, const MatmulSizes& sizes, size_t bias,
                                   ops::FuseCode activation) {
  constexpr size_t kFewRows = 4;
  constexpr size_t kMostDepth = size_t{1} << 16;  // a thread keeps a panel of it
  // The columns of the right side are as the reference kernel wants them: it packs nothing.
  if (sizes.isRightTransposed && sizes.rows < kFewRows) return nullptr;
  if (sizes.depth > kMostDepth) return nullptr;
  const OperandType type = site.inputs[0].type;
  if (site.inputs[1].type != type || site.outputs[0].type != type) return nullptr;
  if (type == OperandType::TENSOR_FLOAT32) {
    return std::make_unique<FloatMatmulKernel>(site, sizes, bias, activation);
  }
  return isQuant8Asymm(type) ? makeQuant8Matmul(site, sizes, bias, activation) : nullptr;
}

}  // namespace halyard::cpudriver
