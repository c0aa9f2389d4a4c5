// Blocks of steps, whose rows are one run of memory wherever the order allows it.
#include "kernels/recurrent/recurrent_steps.h"

#include <algorithm>
#include <limits>

#include "base/work_limit.h"
#include "kernels/vectors/even_pieces.h"

namespace halyard::cpudriver {
namespace {

constexpr size_t kBlockValues = size_t{1} << 20;  // sums that are computed ahead
// Products that are worth a range, and a second thread.
constexpr size_t kRangeWork = 1 << 16;
constexpr size_t kThreadWork = 1 << 18;
// The second-level cache keeps a smaller matrix from step to step.
constexpr size_t kKeptMatrix = 512 * 1024;  // bytes
// More take longer to multiply than the weights to arrive.
constexpr size_t kWaitingRows = 8;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr ops::ClampRange<float> kNoClamp = {-kInfinity, kInfinity};

// Whether the rows of one step lie side by side, and next to those of the step before.
bool isStepByStep(const ops::SequenceOrder& order) { return order.timeMajor || order.batch == 1; }

// As the functions of this name in the header; each thread takes its panels in `order`.
void multiplyRows(const PackedFloats& matrix, const FloatRows& rows, const float* addend,
                  const ops::ClampRange<float>& range, float* out, size_t outStride,
                  LoopOrder order, ops::KernelServices& services) {
  const ptrdiff_t whole = 0;
  const PieceRows pieces = {reinterpret_cast<const std::byte*>(rows.first),
                            rows.stride * sizeof(float),
                            rows.count,
                            {&whole, 1},
                            reinterpret_cast<const std::byte*>(addend)};
  const size_t work = rows.count * matrix.depth() * matrix.columns() / matrix.panels();
  const size_t grain = grainOf(matrix.panels(), work, kRangeWork, kThreadWork);
  const auto multiply = [&](size_t begin, size_t end) {
    matrix.multiply(pieces, range, begin, end, out, outStride);
  };
  if (order == LoopOrder::FORWARD) return services.parallelFor(matrix.panels(), grain, multiply);
  services.parallelForBackward(matrix.panels(), grain, [&](size_t begin, size_t end) {
    for (size_t panel = end; panel-- > begin;) multiply(panel, panel + 1);
  });
}

}  // namespace

void multiplyRows(const PackedFloats& matrix, const FloatRows& rows, const float* addend,
                  const ops::ClampRange<float>& range, float* out, size_t outStride,
                  ops::KernelServices& services) {
  multiplyRows(matrix, rows, addend, range, out, outStride, LoopOrder::FORWARD, services);
}

void multiplyRows(const PackedFloats& matrix, const FloatRows& rows, const float* addend,
                  float* out, size_t outStride, ops::KernelServices& services) {
  multiplyRows(matrix, rows, addend, kNoClamp, out, outStride, services);
}

void addState(const PackedFloats& matrix, const FloatRows& state, size_t step, const StepSums& sums,
              ops::KernelServices& services) {
  const bool waits = matrix.packedBytes() > kKeptMatrix && state.count <= kWaitingRows;
  multiplyRows(matrix, state, sums.first, kNoClamp, sums.first, sums.stride,
               waits && step % 2 != 0 ? LoopOrder::BACKWARD : LoopOrder::FORWARD, services);
}

void forEachStep(const ops::SequenceOrder& order, std::span<const StepInput> inputs,
                 ops::KernelServices& services,
                 const std::function<void(size_t step, const StepSums& sums)>& f) {
  const size_t width = inputs[0].matrix->columns();
  const size_t blockSteps =
      isStepByStep(order) ? std::clamp<size_t>(kBlockValues / (order.batch * width), 1, order.steps)
                          : order.steps;
  auto* const sums =
      static_cast<float*>(services.scratch(blockSteps * order.batch * width * sizeof(float)));
  for (size_t begin = 0; begin < order.steps; begin += blockSteps) {
    const size_t end = std::min(begin + blockSteps, order.steps);
    // The first of the block's rows in memory.
    const size_t firstStep = order.backward ? order.steps - end : begin;
    const size_t first = isStepByStep(order) ? firstStep * order.batch : 0;
    const size_t rows = (end - begin) * order.batch;
    for (const StepInput& input : inputs) {
      const size_t depth = input.matrix->depth();
      multiplyRows(*input.matrix, {input.values + first * depth, depth, rows},
                   &input == inputs.data() ? nullptr : sums, sums, width, services);
    }
    for (size_t s = begin; s < end; ++s) {
      const size_t row = order.row(s, 0);
      const size_t stride = order.batch > 1 ? (order.row(s, 1) - row) * width : width;
      f(s, {sums + (row - first) * width, stride});
    }
  }
}

bool fitsSums(const ops::SequenceOrder& order, size_t columns) {
  constexpr size_t kMostSums = size_t{1} << 24;
  return isStepByStep(order) || order.steps <= kMostSums / order.batch / columns;
}

void applyActivation(const FloatFunctions& functions, ops::RecurrentActivation activation,
                     const float* from, float* to, size_t count) {
  switch (activation) {
    case ops::RecurrentActivation::TANH:
      return functions.tanh(from, to, count);
    case ops::RecurrentActivation::SIGMOID:
      return functions.sigmoid(from, to, count);
    case ops::RecurrentActivation::NONE:
      if (from != to) std::copy_n(from, count, to);
      return;
    default:
      return functions.clamp(from, to, count,
                             ops::activationRange(static_cast<ops::FuseCode>(activation)));
  }
}

float* scratchCopy(const float* values, size_t count, ops::KernelServices& services) {
  auto* const copy = static_cast<float*>(services.scratch(count * sizeof(float)));
  std::copy_n(values, count, copy);
  return copy;
}

}  // namespace halyard::cpudriver
