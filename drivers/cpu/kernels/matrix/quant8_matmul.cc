// Products of 8 bit matrices. The columns of a panel become rows of the values that the processor
// multiplies. Four of these rows at a time become units side by side.
#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

#include "kernels/matrix/gemm_quant8.h"
#include "kernels/matrix/matmul.h"
#include "kernels/matrix/quant8_tiles.h"
#include "kernels/vectors/aligned_buffer.h"
#include "kernels/vectors/even_pieces.h"
#include "ops/multiply_accumulate.h"
#include "ops/transpose_block.h"

namespace halyard::cpudriver {
namespace {

constexpr size_t kProductsForThread = 1600'000;
constexpr size_t kBytesForThread = 64 * 1024;
constexpr size_t kUnitBytes = 4;  // of a row

HALYARD_ALWAYS_INLINE void flipBytes(const uint8_t* from, size_t count, uint8_t flip, uint8_t* to) {
  for (size_t i = 0; i < count; ++i) to[i] = from[i] ^ flip;
}

// A matrix as the micro kernels want their left side.
struct LeftRows {
  const uint8_t* first;
  size_t stride;         // bytes
  const int32_t* terms;  // by row; null: no terms
};

// The bits that are flipped in the right side's bytes. Both sides have the same type.
uint8_t flipOfRight(Quant8Factors factors, bool isSigned) {
  const bool wantsSigned = factors == Quant8Factors::SIGNED_RIGHT || factors == Quant8Factors::WIDE;
  const bool flips = factors == Quant8Factors::OPPOSITE || (wantsSigned && !isSigned);
  return flips ? 0x80 : 0;
}

class Quant8MatmulKernel final : public Kernel {
 public:
  Quant8MatmulKernel(const KernelSite& site, const MatmulSizes& sizes, const Quant8Gemm& gemm,
                     float multiplier, const int32_t* bias, ops::FuseCode activation)
      : sizes_(sizes),
        gemm_(gemm),
        isSigned_(site.inputs[0].type == OperandType::TENSOR_QUANT8_ASYMM_SIGNED),
        flip_(flipOfRight(gemm.factors, isSigned_)),
        leftZeroPoint_(site.inputs[0].zeroPoint),
        rightZeroPoint_(site.inputs[1].zeroPoint + (flip_ == 0  ? 0
                                                    : isSigned_ ? 128
                                                                : -128)),
        units_(divideUp(sizes.depth, gemm.unitValues())),
        bias_(sizes.columns),
        multiplier_(gemm.panelColumns) {
    const ops::ClampRange<int32_t> range = ops::activationRange(activation, site.outputs[0]);
    result_ = {range.min, range.max, site.outputs[0].zeroPoint};
    std::fill_n(multiplier_.data(), gemm.panelColumns, multiplier);
    if (bias != nullptr) std::copy_n(bias, sizes.columns, bias_.data());
  }

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    const LeftRows left = arrangedLeft(operands.input<uint8_t>(0), services);
    const auto* const right = operands.input<uint8_t>(1);
    auto* const output = operands.output<uint8_t>(0);
    forEachMatmulItem(sizes_, gemm_.panelColumns, kProductsForThread, services,
                      [&](const MatmulItem& item) {
                        runItem(left, right + item.matrix * sizes_.rightElements(), item,
                                output + item.matrix * sizes_.outputElements());
                      });
    return okStatus();
  }

 private:
  bool isWide() const { return gemm_.factors == Quant8Factors::WIDE; }

  LeftRows arrangedLeft(const uint8_t* left, ops::KernelServices& services) const {
    const size_t depth = sizes_.depth;
    const size_t rows = sizes_.batch * sizes_.rows;
    if (sizes_.isLeftTransposed) {
      auto* const to = static_cast<uint8_t*>(services.scratch(rows * depth));
      services.parallelFor(sizes_.batch, 1, [&](size_t begin, size_t end) {
        for (size_t m = begin; m < end; ++m) {
          const size_t at = m * sizes_.leftElements();
          ops::transposeBlock(left + at, sizes_.rows, depth, sizes_.rows, to + at, depth);
        }
      });
      left = to;
    }
    const size_t stride = matmulRowStride(units_ * kUnitBytes, kUnitBytes);
    LeftRows arranged = {left, depth, nullptr};
    if (rightZeroPoint_ != 0) {
      auto* const terms = static_cast<int32_t*>(services.scratch(rows * sizeof(int32_t)));
      forRows(rows, services, [&](size_t begin, size_t end) {
        gemm_.sumRows(left + begin * depth, depth, depth, end - begin, isSigned_, -rightZeroPoint_,
                      terms + begin);
      });
      arranged.terms = terms;
    }
    if (isWide() || stride != depth) {
      auto* const to = static_cast<uint8_t*>(services.scratch(rows * stride));
      forRows(rows, services, [&](size_t begin, size_t end) {
        copyRows(left + begin * depth, end - begin, to + begin * stride, stride);
      });
      arranged.first = to;
      arranged.stride = stride;
    }
    return arranged;
  }

  template <typename F>
  void forRows(size_t rows, ops::KernelServices& services, F f) const {
    services.parallelFor(rows, divideUp(kBytesForThread, sizes_.depth), f);
  }

  void copyRows(const uint8_t* from, size_t rows, uint8_t* to, size_t stride) const {
    if (isWide()) {
      return gemm_.widenRows(from, sizes_.depth, sizes_.depth, rows, isSigned_,
                             reinterpret_cast<int16_t*>(to), stride / sizeof(int16_t));
    }
    for (size_t row = 0; row < rows; ++row) {
      std::memcpy(to + row * stride, from + row * sizes_.depth, sizes_.depth);
    }
  }

  // The buffers of a thread for one panel.
  struct Buffers {
    uint8_t* bytes;    // [columns][depth], where they have to be transposed
    uint8_t* columns;  // [columns][units][unitValues]
    uint8_t* packed;   // [units][places][unitValues]
  };
  Buffers buffers() const {
    const size_t width = gemm_.panelColumns;
    const size_t packed = width * columnBytes();
    auto* const memory =
        reinterpret_cast<uint8_t*>(threadBuffer(2 * packed + width * sizes_.depth));
    return {memory + 2 * packed, memory + packed, memory};
  }

  void runItem(const LeftRows& left, const uint8_t* right, const MatmulItem& item,
               uint8_t* output) const {
    const size_t width = gemm_.panelColumns;
    const bool isHalf = 2 * item.columns <= width;
    const Buffers memory = buffers();
    int32_t sums[kMostColumns];
    arrangeColumns(right, item, memory, sums);
    const auto placeOf = [&](size_t column) {
      return isHalf ? column : placeInPanel(column, width);
    };
    const size_t places = isHalf ? width / 2 : width;
    if (item.columns < places) std::fill_n(memory.packed, places * columnBytes(), uint8_t{0});
    for (size_t column = 0; column < item.columns; column += 4) {
      packUnits(gemm_, memory.columns + column * columnBytes(), columnBytes(),
                std::min<size_t>(4, item.columns - column), units_,
                memory.packed + placeOf(column) * gemm_.unitValues(), places);
    }
    int32_t bias[kMostColumns] = {};
    for (size_t column = 0; column < item.columns; ++column) {
      const auto sum = static_cast<uint32_t>(sums[column]) -
                       static_cast<uint32_t>(sizes_.depth) * static_cast<uint32_t>(rightZeroPoint_);
      bias[placeOf(column)] =
          static_cast<int32_t>(static_cast<uint32_t>(bias_[item.column + column]) -
                               static_cast<uint32_t>(leftZeroPoint_) * sum);
    }
    multiply(left, memory, bias, item, output);
  }

  size_t columnBytes() const { return units_ * gemm_.unitValues(); }

  // The panel's columns in rows of units, and the sum of each.
  void arrangeColumns(const uint8_t* right, const MatmulItem& item, const Buffers& memory,
                      int32_t* sums) const {
    const size_t depth = sizes_.depth;
    const uint8_t* bytes = right + item.column * depth;
    if (!sizes_.isRightTransposed) {
      ops::transposeBlock(right + item.column, sizes_.columns, depth, item.columns, memory.bytes,
                          depth);
      bytes = memory.bytes;
    }
    const size_t stride = columnBytes();
    for (size_t column = 0; column < item.columns; ++column) {
      uint8_t* const row = memory.columns + column * stride;
      ops::runBest<&flipBytes>(bytes + column * depth, depth, flip_, row);
      std::fill(row + depth, row + stride, uint8_t{0});
    }
    gemm_.sumRows(memory.columns, stride, depth, item.columns, isSigned_ != (flip_ != 0), 1, sums);
  }

  void multiply(const LeftRows& left, const Buffers& memory, const int32_t* bias,
                const MatmulItem& item, uint8_t* output) const {
    const bool isHalf = 2 * item.columns <= gemm_.panelColumns;
    Quant8Tile tile;
    tile.leftStride = left.stride;
    tile.packed = memory.packed;
    tile.units = units_;
    tile.bias = bias;
    tile.multiplier = multiplier_.data();
    tile.result = result_;
    tile.outStride = sizes_.columns;
    tile.columns = item.columns;
    const auto setRow = [&](size_t row) {
      const size_t leftRow = item.matrix * sizes_.rows + row;
      tile.left = left.first + leftRow * left.stride;
      tile.rowTerms = left.terms == nullptr ? nullptr : left.terms + leftRow;
      tile.out = output + row * sizes_.columns + item.column;
    };
    const size_t rows = item.rowEnd - item.rowBegin;
    if (gemm_.usesTiles()) {
      const auto& micros = isSigned_ ? gemm_.signedTiles : gemm_.unsignedTiles;
      return forTiles(rows, tileUnits(units_), [&](size_t begin, const TileSizes& tiles) {
        setRow(item.rowBegin + begin);
        (isHalf ? micros.half : micros.whole)(tile, tiles);
      });
    }
    const auto& micros = isSigned_ && !isWide() ? gemm_.signedLeft : gemm_.unsignedLeft;
    const auto& micro = isHalf ? micros.half : micros.whole;
    forEvenPieces(rows, isHalf ? gemm_.maxHalfRows : gemm_.maxRows,
                  [&](size_t begin, size_t count) {
                    setRow(item.rowBegin + begin);
                    micro[count](tile);
                  });
  }

  static constexpr size_t kMostColumns = 32;  // of a panel

  const MatmulSizes sizes_;
  const Quant8Gemm& gemm_;
  const bool isSigned_;
  const uint8_t flip_;  // bits flipped in the right side's bytes
  const int32_t leftZeroPoint_;
  const int32_t rightZeroPoint_;  // after flipping
  const size_t units_;
  Quant8Result result_;
  AlignedBuffer<int32_t> bias_;      // by column
  AlignedBuffer<float> multiplier_;  // all of a panel's are the same
};

// Whether sums of `products`, and their values in units of the output, are certain to fit 32 bits.
bool sumsFit(size_t products, int64_t largestBias, float multiplier) {
  // Of the differences to the zero points, each of which has 9 bits.
  constexpr int64_t kLargestProduct = 255 * 255;
  if (products > std::numeric_limits<int32_t>::max() / kLargestProduct) return false;
  const int64_t largest = static_cast<int64_t>(products) * kLargestProduct + largestBias;
  return largest <= std::numeric_limits<int32_t>::max() &&
         static_cast<double>(largest) * double{multiplier} < 0x1p30;
}

}  // namespace

std::unique_ptr<Kernel> makeQuant8Matmul(const KernelSite& site, const MatmulSizes& sizes,
                                         size_t bias, ops::FuseCode activation) {
  const Quant8Gemm* const gemm = quant8Gemm(site.level, {sizes.rows, divideUp(sizes.depth, 4)});
  if (gemm == nullptr) return nullptr;
  const int32_t* const biases = bias > 0 ? site.inputs[bias].as<int32_t>() : nullptr;
  int64_t largestBias = 0;
  for (size_t c = 0; biases != nullptr && c < sizes.columns; ++c) {
    largestBias = std::max(largestBias, std::abs(int64_t{biases[c]}));
  }
  const float multiplier = ops::quantizedSumMultiplier(site.inputs[0].scale, site.inputs[1].scale,
                                                       site.outputs[0].scale);
  if (!sumsFit(sizes.depth, largestBias, multiplier)) return nullptr;
  return std::make_unique<Quant8MatmulKernel>(site, sizes, *gemm, multiplier, biases, activation);
}

}  // namespace halyard::cpudriver
