// Some rows at a time: their scores stay in the second-level cache.
#include "kernels/layers/attention.h"

#include <algorithm>
#include <limits>

#include "kernels/matrix/gemm_float.h"
#include "kernels/matrix/matmul.h"
#include "kernels/matrix/relaxed_panels.h"
#include "kernels/vectors/aligned_buffer.h"
#include "kernels/vectors/even_pieces.h"
#include "kernels/vectors/softmax_row.h"

namespace halyard::cpudriver {
namespace {

constexpr size_t kScoreBytes = 256 * 1024;  // of the rows that are computed at a time
constexpr size_t kMostRows = 112;
constexpr size_t kAlignment = 64;  // of a packed matrix, bytes
constexpr float kInfinity = std::numeric_limits<float>::infinity();

class AttentionKernel final : public Kernel {
 public:
  AttentionKernel(const AttentionShape& shape, bool isRelaxed)
      : shape_(shape),
        gemm_(floatGemm(ops::simdLevel())),
        functions_(floatFunctions(ops::simdLevel())),
        queries_{shape.queryHeads, shape.rows, shape.depth},
        keys_(gemm_, {1, shape.rows, shape.keys, shape.depth, false, !shape.areKeysColumns},
              {shape.keyHeads, shape.keys, shape.depth}, isRelaxed),
        values_(gemm_, {1, shape.rows, shape.width, shape.keys, false, false},
                {shape.valueHeads, shape.keys, shape.width}, isRelaxed),
        results_{shape.resultHeads, shape.rows, shape.width},
        scoresApart_(matmulRowStride(shape.keys * sizeof(float), sizeof(float)) / sizeof(float)),
        noBias_(std::max(keys_.panels, values_.panels) * gemm_.panelColumns) {
    const size_t rows = kScoreBytes / (scoresApart_ * sizeof(float));
    const size_t least = gemm_.micro.mostRows;
    blocks_ = divideUp(shape.rows, std::clamp(rows / least * least, least, kMostRows));
  }

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    Memory memory;
    memory.queries = operands.input<float>(0);
    memory.mask = shape_.hasMask ? operands.input<float>(3) : nullptr;
    memory.output = operands.output<float>(0);
    memory.keys = packed(operands.input<float>(1), keys_, services);
    memory.values = packed(operands.input<float>(2), values_, services);
    const size_t products = shape_.rows / blocks_ * shape_.keys * (shape_.depth + shape_.width);
    services.parallelFor(shape_.batch * blocks_, divideUp(kMatmulProducts, products + 1),
                         [&](size_t begin, size_t end) {
                           for (size_t i = begin; i < end; ++i) {
                             const size_t block = i % blocks_;
                             runRows(memory, i / blocks_, shape_.rows * block / blocks_,
                                     shape_.rows * (block + 1) / blocks_);
                           }
                         });
    return okStatus();
  }

 private:
  struct Memory {
    const float* queries;
    const std::byte* keys;    // packed
    const std::byte* values;  // packed
    const float* mask;
    float* output;
  };

  // Where the matrices of an operand are.
  struct Places {
    size_t heads;
    size_t rows;
    size_t columns;

    size_t apart() const { return heads * columns; }  // elements from a row to the next
    size_t first(size_t matrix) const {
      return matrix / heads * rows * apart() + matrix % heads * columns;
    }
  };

  // One of the matrices on the right side, in panels.
  struct Right {
    Right(const FloatGemm& gemm, const MatmulSizes& of, const Places& at, bool isRelaxed)
        : sizes(of), places(at), panels(divideUp(of.columns, gemm.panelColumns)) {
      if (at.heads > 1) sizes.rightApart = at.apart();
      if (isRelaxed) {
        // Packing for tiles, at each execution, takes longer than they save.
        constexpr size_t kWithoutTiles = 0;
        relaxed = RelaxedPanels::make(ops::newestSimdLevel(), of.columns, of.depth, kWithoutTiles);
      }
      const size_t whole = (panels - 1) * gemm.panelColumns;
      packedBytes = relaxed != nullptr ? relaxed->packedElements() * sizeof(uint16_t)
                                       : (whole + gemm.packedColumns(of.columns - whole)) *
                                             of.depth * sizeof(float);
      packedBytes = divideUp(packedBytes, kAlignment) * kAlignment;
    }
    MatmulSizes sizes;
    const Places places;
    const size_t panels;
    std::unique_ptr<const RelaxedPanels> relaxed;  // null: panels of floats
    size_t packedBytes = 0;                        // of a matrix
  };

  size_t columnsOf(const Right& right, size_t panel) const {
    return std::min(gemm_.panelColumns, right.sizes.columns - panel * gemm_.panelColumns);
  }
  size_t placeOf(const Right& right, size_t panel) const {
    return panel * gemm_.panelColumns * right.sizes.depth;
  }

  // The matrices of all batches in panels.
  const std::byte* packed(const float* from, const Right& right,
                          ops::KernelServices& services) const {
    auto* const to = static_cast<std::byte*>(services.scratch(shape_.batch * right.packedBytes));
    const size_t bytes = gemm_.panelColumns * right.sizes.depth * sizeof(float);
    services.parallelFor(shape_.batch * right.panels, divideUp(kMatmulBytes, bytes),
                         [&](size_t begin, size_t end) {
                           for (size_t i = begin; i < end; ++i) {
                             const size_t matrix = i / right.panels;
                             packOne(from + right.places.first(matrix), right, i % right.panels,
                                     to + matrix * right.packedBytes);
                           }
                         });
    return to;
  }

  // One panel, to its place in the matrix at `to`.
  void packOne(const float* from, const Right& right, size_t panel, std::byte* to) const {
    const size_t columns = columnsOf(right, panel);
    const auto pack = [&](float* floats) {
      packRightPanel(gemm_, right.sizes, from, panel * gemm_.panelColumns, columns, floats);
    };
    if (right.relaxed == nullptr) {
      return pack(reinterpret_cast<float*>(to) + placeOf(right, panel));
    }
    const size_t lines = right.relaxed->paddedDepth();
    const size_t width = gemm_.packedColumns(columns);
    auto* const floats = reinterpret_cast<float*>(threadBuffer(lines * width * sizeof(float)));
    pack(floats);
    std::fill(floats + right.sizes.depth * width, floats + lines * width, 0.0f);
    right.relaxed->pack(panel, floats, reinterpret_cast<uint16_t*>(to));
  }

  void runRows(const Memory& memory, size_t batch, size_t begin, size_t end) const {
    const size_t rows = end - begin;
    auto& buffer = threadOwned<AlignedBuffer<float>, struct ScoreBuffer>();
    const size_t needed = rows * scoresApart_;
    if (buffer.size() < needed) buffer = AlignedBuffer<float>(needed);
    float* const scores = buffer.data();
    multiply(keys_, memory.queries + queries_.first(batch) + begin * queries_.apart(),
             queries_.apart(), memory.keys + batch * keys_.packedBytes, rows, scores, scoresApart_);
    for (size_t r = 0; r < rows; ++r) {
      float* const row = scores + r * scoresApart_;
      if (memory.mask != nullptr) {
        const float* const mask =
            memory.mask + batch * shape_.maskOfBatch + (begin + r) * shape_.maskOfRow;
        functions_.scaleAndAdd(row, mask, shape_.keys, shape_.factor);
      }
      const float beta = memory.mask != nullptr ? shape_.beta : shape_.beta * shape_.factor;
      const double sum = exponentialsOfRow(functions_, row, row, shape_.keys, beta);
      // Before the product, whose sums then stay within the values.
      functions_.scale(row, shape_.keys, static_cast<float>(1 / sum));
    }
    multiply(values_, scores, scoresApart_, memory.values + batch * values_.packedBytes, rows,
             memory.output + results_.first(batch) + begin * results_.apart(), results_.apart());
  }

  void multiply(const Right& right, const float* left, size_t leftStride, const std::byte* packed,
                size_t rows, float* out, size_t outStride) const {
    const ptrdiff_t whole = 0;
    if (right.relaxed != nullptr) {
      const size_t bytes = rows * right.relaxed->rowStride() * sizeof(uint16_t);
      auto* const prepared = reinterpret_cast<uint16_t*>(threadBuffer(bytes));
      right.relaxed->prepare({.first = reinterpret_cast<const std::byte*>(left),
                              .stride = leftStride * sizeof(float),
                              .count = rows,
                              .pieces = {&whole, 1},
                              .addend = nullptr},
                             prepared);
      return right.relaxed->multiply(reinterpret_cast<const uint16_t*>(packed), prepared, rows,
                                     {.bias = noBias_.data(),
                                      .addend = nullptr,
                                      .range = {-kInfinity, kInfinity},
                                      .panelBegin = 0,
                                      .panelEnd = right.panels,
                                      .out = out,
                                      .outStride = outStride});
    }
    for (size_t panel = 0; panel < right.panels; ++panel) {
      multiplyPanel(gemm_,
                    {.left = left,
                     .leftStride = leftStride,
                     .packed = reinterpret_cast<const float*>(packed) + placeOf(right, panel),
                     .pieces = &whole,
                     .pieceCount = 1,
                     .depth = right.sizes.depth,
                     .ahead = nullptr,
                     .aheadStep = 0,
                     .bias = noBias_.data(),
                     .result = {.addend = nullptr,
                                .low = -kInfinity,
                                .high = kInfinity,
                                .out = out + panel * gemm_.panelColumns,
                                .outStride = outStride,
                                .columns = columnsOf(right, panel)}},
                    rows);
    }
  }

  const AttentionShape shape_;
  const FloatGemm& gemm_;
  const FloatFunctions& functions_;
  const Places queries_;
  const Right keys_;
  const Right values_;
  const Places results_;
  const size_t scoresApart_;           // elements from a row to the next
  size_t blocks_ = 1;                  // of rows
  const AlignedBuffer<float> noBias_;  // zeros, for all columns
};

}  // namespace

bool canHaveHeads(size_t heads, size_t columns) {
  const size_t apart = heads * columns * sizeof(float);
  return matmulRowStride(apart, sizeof(float)) == apart;
}

std::unique_ptr<Kernel> makeAttention(const AttentionShape& shape, bool isRelaxed) {
  return std::make_unique<AttentionKernel>(shape, isRelaxed);
}

}  // namespace halyard::cpudriver
