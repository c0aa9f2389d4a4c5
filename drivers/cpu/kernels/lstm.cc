// The LSTM cell in float: the products of the inputs of all steps at once, then step by step those
// of the hidden values, added to them, and all gates of a cell together.
#include "ops/lstm_cell.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/float_functions.h"
#include "kernels/makers.h"
#include "kernels/packed_floats.h"

namespace halyard::cpudriver {
namespace {

// Inputs that both operations have at the same places.
enum Input : size_t {
  kX = 0,
  kWeights = 1,
  kHiddenState = 18,
  kCellState = 19,
  kOptions = 20,
  kStepLayerNorm = 23,
  kTimeMajor = 23,
  kSequenceLayerNorm = 24,
};

constexpr size_t kBlockValues = size_t{1} << 20;  // sums of gates that are computed ahead
constexpr size_t kWorkPerRange = 1 << 18;         // products

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr ops::ClampRange<float> kAll = {-kInfinity, kInfinity};

float limitOf(float clip) { return clip > 0 ? clip : kInfinity; }

// Where a run's values are.
struct Values {
  const float* x;
  const float* hiddenBefore;
  const float* cellBefore;
  float* output;
  float* hiddenAfter;  // null: nobody wants it
  float* cellAfter;    // likewise
};

class LstmCell {
 public:
  LstmCell(const KernelSite& site, const ops::LstmWeights& weights, const ops::LstmOptions& options,
           const ops::SequenceOrder& order)
      : order_(order),
        cells_(weights.cells),
        outputs_(weights.outputs),
        gates_(weights.hasInputGate() ? ops::kGates : ops::kGates - 1),
        stateClip_(limitOf(options.cellClip)),
        projectionClip_(limitOf(options.projectionClip)),
        functions_(floatFunctions(site.level)) {
    const size_t firstGate = ops::kGates - gates_;
    const auto matrixOf = [&](const ops::GatePointers& gates, size_t depth, const float* bias) {
      return PackedFloats(
          site, gates_ * cells_, depth,
          [&](size_t column) {
            return gates[firstGate + column / cells_] + column % cells_ * depth;
          },
          bias);
    };
    std::vector<float> bias;
    for (size_t gate = firstGate; gate < ops::kGates; ++gate) {
      bias.insert(bias.end(), weights.bias[gate], weights.bias[gate] + cells_);
    }
    input_ = matrixOf(weights.input, weights.inputSize, bias.data());
    recurrent_ = matrixOf(weights.recurrent, outputs_, nullptr);
    for (size_t i = kWeights; i < kWeights + ops::kLstmPeephole; ++i) {
      if (site.hasInput(i)) site.release(i);
    }
    if (weights.projection == nullptr) return;
    projection_ = PackedFloats(
        site, outputs_, cells_, [&](size_t i) { return weights.projection + i * cells_; },
        weights.projectionBias);
    site.release(kWeights + ops::kLstmProjection);
  }

  void run(const Values& values, ops::KernelServices& services) const {
    const size_t batch = order_.batch;
    const size_t width = gates_ * cells_;
    const bool hasProjection = projection_.columns() > 0;
    auto* const hidden = copyOf(values.hiddenBefore, batch * outputs_, services);
    auto* const state = copyOf(values.cellBefore, batch * cells_, services);
    float* const gated = hasProjection
                             ? static_cast<float*>(services.scratch(batch * cells_ * sizeof(float)))
                             : hidden;
    const size_t blockSteps =
        isStepByStep() ? std::clamp<size_t>(kBlockValues / (batch * width), 1, order_.steps)
                       : order_.steps;
    auto* const sums =
        static_cast<float*>(services.scratch(blockSteps * batch * width * sizeof(float)));
    for (size_t begin = 0; begin < order_.steps; begin += blockSteps) {
      const size_t end = std::min(begin + blockSteps, order_.steps);
      // Rows in memory's order, of which a block is one run.
      const size_t first = isStepByStep() ? begin * batch : 0;
      const size_t rows = (end - begin) * batch;
      multiply(input_, values.x + first * input_.depth(), rows, input_.depth(), nullptr, kAll, sums,
               width, services);
      for (size_t s = begin; s < end; ++s) {
        float* const stepSums = sums + (order_.row(s, 0) - first) * width;
        const size_t rowStride = batch > 1 ? (order_.row(s, 1) - order_.row(s, 0)) * width : width;
        multiply(recurrent_, hidden, batch, outputs_, stepSums, kAll, stepSums, rowStride,
                 services);
        for (size_t b = 0; b < batch; ++b) {
          updateCells(stepSums + b * rowStride, state + b * cells_, gated + b * cells_);
        }
        if (hasProjection) {
          multiply(projection_, gated, batch, cells_, nullptr, {-projectionClip_, projectionClip_},
                   hidden, outputs_, services);
        }
        for (size_t b = 0; b < batch; ++b) {
          std::copy_n(hidden + b * outputs_, outputs_, values.output + order_.row(s, b) * outputs_);
        }
      }
    }
    if (values.hiddenAfter != nullptr) std::copy_n(hidden, batch * outputs_, values.hiddenAfter);
    if (values.cellAfter != nullptr) std::copy_n(state, batch * cells_, values.cellAfter);
  }

 private:
  // Whether the rows of one step lie side by side, and behind those of the step before.
  bool isStepByStep() const { return order_.timeMajor || order_.batch == 1; }

  static float* copyOf(const float* values, size_t count, ops::KernelServices& services) {
    auto* const copy = static_cast<float*>(services.scratch(count * sizeof(float)));
    std::copy_n(values, count, copy);
    return copy;
  }

  static void multiply(const PackedFloats& matrix, const float* rows, size_t count, size_t stride,
                       const float* addend, const ops::ClampRange<float>& range, float* out,
                       size_t outStride, ops::KernelServices& services) {
    const ptrdiff_t whole = 0;
    const PieceRows pieces = {reinterpret_cast<const std::byte*>(rows),
                              stride * sizeof(float),
                              count,
                              {&whole, 1},
                              reinterpret_cast<const std::byte*>(addend)};
    const size_t work = count * matrix.depth() * matrix.columns();
    if (work <= kWorkPerRange) {
      matrix.multiply(pieces, range, 0, matrix.panels(), out, outStride);
      return;
    }
    const size_t grain = kWorkPerRange * matrix.panels() / work + 1;
    services.parallelFor(matrix.panels(), grain, [&](size_t begin, size_t end) {
      matrix.multiply(pieces, range, begin, end, out, outStride);
    });
  }

  void updateCells(const float* sums, float* state, float* hidden) const {
    const bool hasInputGate = gates_ == ops::kGates;
    const float* const forget = hasInputGate ? sums + cells_ : sums;
    functions_.lstmCells({hasInputGate ? sums : nullptr, forget, forget + cells_,
                          forget + 2 * cells_, state, hidden, stateClip_, cells_});
  }

  const ops::SequenceOrder order_;
  const size_t cells_;
  const size_t outputs_;
  const size_t gates_;
  PackedFloats input_;
  PackedFloats recurrent_;
  PackedFloats projection_;  // without columns: none
  const float stateClip_;
  const float projectionClip_;
  const FloatFunctions& functions_;
};

// LSTM, of one step.
class LstmStepKernel final : public Kernel {
 public:
  LstmStepKernel(LstmCell cell, size_t scratchBytes)
      : cell_(std::move(cell)), scratchBytes_(scratchBytes) {}

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    // Nothing is said about its contents, but results should not depend on what was in memory.
    std::memset(operands.output<std::byte>(0), 0, scratchBytes_);
    cell_.run({operands.input<float>(kX), operands.input<float>(kHiddenState),
               operands.input<float>(kCellState), operands.output<float>(3),
               operands.output<float>(1), operands.output<float>(2)},
              services);
    return okStatus();
  }

 private:
  const LstmCell cell_;
  const size_t scratchBytes_;
};

class LstmSequenceKernel final : public Kernel {
 public:
  explicit LstmSequenceKernel(LstmCell cell) : cell_(std::move(cell)) {}

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    const bool hasStates = operands.outputs.size() > 1;
    cell_.run({operands.input<float>(kX), operands.input<float>(kHiddenState),
               operands.input<float>(kCellState), operands.output<float>(0),
               hasStates ? operands.output<float>(1) : nullptr,
               hasStates ? operands.output<float>(2) : nullptr},
              services);
    return okStatus();
  }

 private:
  const LstmCell cell_;
};

// The cell of a site whose weights are constants and which has none of the rarer parts.
std::optional<LstmCell> readCell(const KernelSite& site, const ops::SequenceOrder& order,
                                 size_t layerNorm) {
  if (site.inputs[kX].type != OperandType::TENSOR_FLOAT32) return std::nullopt;
  for (size_t i = kWeights; i < kWeights + ops::kLstmWeightRows; ++i) {
    if (site.hasInput(i) && !site.isConstant(i)) return std::nullopt;
    if (site.hasInput(i) && i >= kWeights + ops::kLstmPeephole && i < kWeights + ops::kLstmBias) {
      return std::nullopt;
    }
  }
  for (size_t i = layerNorm; i < layerNorm + ops::kGates; ++i) {
    if (site.hasInput(i)) return std::nullopt;
  }
  const ops::OperationContext context(site.inputs, {}, nullptr);
  ops::LstmOptions options;
  if (!ops::readLstmOptions(context, kOptions, &options).ok() ||
      options.activation != ops::RecurrentActivation::TANH) {
    return std::nullopt;
  }
  const ops::LstmWeights weights = ops::lstmWeightsAt(context, kWeights, layerNorm);
  // Sums of all steps at once should not take more memory than the rest of the model.
  constexpr size_t kMostSums = size_t{1} << 24;
  if (!order.timeMajor && order.batch > 1 &&
      order.steps > kMostSums / order.batch / (ops::kGates * weights.cells)) {
    return std::nullopt;
  }
  return LstmCell(site, weights, options, order);
}

}  // namespace

std::unique_ptr<Kernel> makeLstm(const KernelSite& site) {
  auto cell = readCell(site, {.batch = site.inputs[kX].dims[0]}, kStepLayerNorm);
  if (!cell) return nullptr;
  const size_t scratchBytes = site.outputs[0].elementCount() * sizeof(float);
  return std::make_unique<LstmStepKernel>(std::move(*cell), scratchBytes);
}

std::unique_ptr<Kernel> makeLstmSequence(const KernelSite& site) {
  const ops::OperationContext context(site.inputs, {}, nullptr);
  bool timeMajor = false;
  if (!context.read(kTimeMajor, &timeMajor).ok()) return nullptr;
  const Shape& dims = site.inputs[kX].dims;
  auto cell = readCell(site, {dims[timeMajor ? 0 : 1], dims[timeMajor ? 1 : 0], timeMajor, false},
                       kSequenceLayerNorm);
  return cell ? std::make_unique<LstmSequenceKernel>(std::move(*cell)) : nullptr;
}

}  // namespace halyard::cpudriver
