// Gate products by gemm, for blocks of steps at once if no step depends on the one before.
#include "ops/sequence.h"

#include <algorithm>
#include <cstring>

#include "ops/gemm.h"

namespace halyard::ops {
namespace {

// gemm rearranges its right matrix on each call. With fewer rows than this, the rows become the
// right matrix. Rearranging the weights would cost as much as multiplying by them.
constexpr size_t kManyRows = 48;
constexpr size_t kFewRows = 4;                    // with fewer, gemm rearranges nothing
constexpr size_t kBlockValues = size_t{1} << 20;  // gate sums that are computed ahead

using RowAt = std::function<const float*(size_t row)>;

// Returns the weights of one cell among all gates' cells.
const float* columnOf(const GateWeights& weights, size_t column) {
  return weights.matrices[column / weights.cells] + column % weights.cells * weights.depth;
}

void multiplyByWeights(KernelServices& services, size_t rows, const RowAt& rowAt,
                       const GateWeights& weights, bool add, float* sums) {
  const size_t width = weights.width();
  GemmProblem<float> problem;
  problem.rows = rows;
  problem.columns = width;
  problem.depth = weights.depth;
  problem.left = [&](size_t begin, size_t end, float* buffer) {
    const float* first = rowAt(begin);
    bool sideBySide = true;
    for (size_t row = begin + 1; sideBySide && row < end; ++row) {
      sideBySide = rowAt(row) == first + (row - begin) * weights.depth;
    }
    if (sideBySide) return first;
    for (size_t row = begin; row < end; ++row) {
      std::memcpy(buffer + (row - begin) * weights.depth, rowAt(row),
                  weights.depth * sizeof(float));
    }
    return static_cast<const float*>(buffer);
  };
  problem.right = [&](size_t column, float*) { return columnOf(weights, column); };
  problem.store = [=](const GemmTile<float>& tile) {
    for (size_t row = tile.rowBegin; row < tile.rowEnd; ++row) {
      const float* from = tile.sums + (row - tile.rowBegin) * tile.stride;
      float* to = sums + row * width + tile.columnBegin;
      const size_t count = tile.columnEnd - tile.columnBegin;
      for (size_t i = 0; i < count; ++i) to[i] = add ? to[i] + from[i] : from[i];
    }
  };
  gemm(services, problem);
}

// The same product with the sides exchanged.
void multiplyWeights(KernelServices& services, size_t rows, const RowAt& rowAt,
                     const GateWeights& weights, bool add, float* sums) {
  const size_t width = weights.width();
  GemmProblem<float> problem;
  problem.rows = width;
  problem.columns = rows;
  problem.depth = weights.depth;
  problem.left = [&](size_t begin, size_t end, float* buffer) {
    if (begin / weights.cells == (end - 1) / weights.cells) return columnOf(weights, begin);
    for (size_t column = begin; column < end; ++column) {
      std::memcpy(buffer + (column - begin) * weights.depth, columnOf(weights, column),
                  weights.depth * sizeof(float));
    }
    return static_cast<const float*>(buffer);
  };
  problem.right = [&](size_t row, float*) { return rowAt(row); };
  problem.store = [=](const GemmTile<float>& tile) {
    for (size_t row = tile.columnBegin; row < tile.columnEnd; ++row) {
      const float* from = tile.sums + (row - tile.columnBegin);
      float* to = sums + row * width;
      for (size_t column = tile.rowBegin; column < tile.rowEnd; ++column) {
        const float sum = from[(column - tile.rowBegin) * tile.stride];
        to[column] = add ? to[column] + sum : sum;
      }
    }
  };
  gemm(services, problem);
}

}  // namespace

void* RewindingServices::scratch(size_t bytes) {
  if (next_ == blocks_.size()) blocks_.push_back({nullptr, 0});
  Block& block = blocks_[next_++];
  if (block.data == nullptr || block.bytes < bytes) block = {base_.scratch(bytes), bytes};
  return block.data;
}

void multiplyGates(RewindingServices& services, size_t rows, const RowAt& rowAt,
                   const GateWeights& weights, bool add, float* sums) {
  services.rewind();
  if (rows >= kFewRows && rows < kManyRows) {
    multiplyWeights(services, rows, rowAt, weights, add, sums);
  } else {
    multiplyByWeights(services, rows, rowAt, weights, add, sums);
  }
}

void multiplyGates(RewindingServices& services, size_t rows, const float* values,
                   const GateWeights& weights, bool add, float* sums) {
  const size_t depth = weights.depth;
  multiplyGates(
      services, rows, [=](size_t row) { return values + row * depth; }, weights, add, sums);
}

void runSequence(
    KernelServices& services, const SequenceOrder& order, std::span<const SequenceInput> inputs,
    const std::function<void(RewindingServices& services, size_t s, float* sums)>& step) {
  RewindingServices rewinding(services);
  const size_t stepValues = order.batch * inputs[0].weights.width();
  const size_t blockSteps = std::clamp<size_t>(kBlockValues / stepValues, 1, order.steps);
  auto* sums = static_cast<float*>(services.scratch(blockSteps * stepValues * sizeof(float)));
  for (size_t begin = 0; begin < order.steps; begin += blockSteps) {
    const size_t end = std::min(begin + blockSteps, order.steps);
    for (size_t i = 0; i < inputs.size(); ++i) {
      const SequenceInput& input = inputs[i];
      const auto rowAt = [&](size_t row) {
        return input.values +
               order.row(begin + row / order.batch, row % order.batch) * input.weights.depth;
      };
      multiplyGates(rewinding, (end - begin) * order.batch, rowAt, input.weights, i > 0, sums);
    }
    for (size_t s = begin; s < end; ++s) step(rewinding, s, sums + (s - begin) * stepValues);
  }
}

void storeStep(const SequenceOrder& order, size_t s, const float* values, size_t width,
               const SequenceOutput& output) {
  for (size_t b = 0; b < order.batch; ++b) {
    std::memcpy(output.values + order.row(s, b) * output.stride, values + b * width,
                width * sizeof(float));
  }
}

}  // namespace halyard::ops
