// One LSTM cell: gates, states and projection for each step of a sequence.
#include "ops/lstm_cell.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace halyard::ops {
namespace {

constexpr size_t kGrainCells = 1024;  // five exponentials each
constexpr double kVarianceFloor = 1e-8;

// A clip of 0 means no limit.
ClampRange<float> clipRange(float clip) {
  const float limit = clip > 0 ? clip : std::numeric_limits<float>::infinity();
  return {-limit, limit};
}

// Scales values to mean 0 and variance 1, times `weights`.
void normalize(float* values, const float* weights, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; ++i) sum += static_cast<double>(values[i]);
  const double mean = sum / static_cast<double>(count);
  double squares = 0;
  for (size_t i = 0; i < count; ++i) {
    const double distance = static_cast<double>(values[i]) - mean;
    squares += distance * distance;
  }
  const double factor = 1 / std::sqrt(squares / static_cast<double>(count) + kVarianceFloor);
  for (size_t i = 0; i < count; ++i) {
    const double normal = (static_cast<double>(values[i]) - mean) * factor;
    values[i] = static_cast<float>(normal) * weights[i];
  }
}

class LstmRun {
 public:
  LstmRun(KernelServices& services, const SequenceOrder& order, const LstmWeights& weights,
          const LstmOptions& options, const LstmStates& states)
      : order_(order),
        weights_(weights),
        options_(options),
        recurrent_(gateWeights(weights.recurrent, weights.cells, weights.outputs)) {
    hidden_ = copied(services, states.hidden, weights.outputs);
    cell_ = copied(services, states.cell, weights.cells);
    // The input of the projection; without a projection, the output of the cell.
    gated_ = weights.projection == nullptr
                 ? hidden_
                 : static_cast<float*>(services.scratch(valuesOf(weights.cells) * sizeof(float)));
  }

  void step(RewindingServices& services, float* sums) const;
  const float* hidden() const { return hidden_; }
  const float* cell() const { return cell_; }

 private:
  size_t valuesOf(size_t width) const { return order_.batch * width; }
  float* copied(KernelServices& services, const float* values, size_t width) const {
    auto* copy = static_cast<float*>(services.scratch(valuesOf(width) * sizeof(float)));
    std::memcpy(copy, values, valuesOf(width) * sizeof(float));
    return copy;
  }
  // Turns products into the input of the gate's activation.
  void finishSums(Gate gate, float* sums, const float* cell) const;
  void updateRow(size_t b, float* sums) const;
  void project(RewindingServices& services) const;

  const SequenceOrder& order_;
  const LstmWeights& weights_;
  const LstmOptions& options_;
  GateWeights recurrent_;
  float* hidden_;
  float* cell_;
  float* gated_;
};

void LstmRun::finishSums(Gate gate, float* sums, const float* cell) const {
  const size_t cells = weights_.cells;
  if (const float* peephole = weights_.peephole[gate]) {
    for (size_t i = 0; i < cells; ++i) sums[i] += peephole[i] * cell[i];
  }
  if (const float* layerNorm = weights_.layerNorm[gate]) normalize(sums, layerNorm, cells);
  const float* bias = weights_.bias[gate];
  for (size_t i = 0; i < cells; ++i) sums[i] += bias[i];
}

void LstmRun::updateRow(size_t b, float* sums) const {
  const size_t cells = weights_.cells;
  float* inputGate = sums;
  float* forgetGate = weights_.hasInputGate() ? sums + cells : sums;
  float* cellGate = forgetGate + cells;
  float* outputGate = cellGate + cells;
  float* cell = cell_ + b * cells;

  finishSums(kForgetGate, forgetGate, cell);
  activate(RecurrentActivation::SIGMOID, forgetGate, cells);
  finishSums(kCellGate, cellGate, cell);
  activate(options_.activation, cellGate, cells);
  if (weights_.hasInputGate()) {
    finishSums(kInputGate, inputGate, cell);
    activate(RecurrentActivation::SIGMOID, inputGate, cells);
    for (size_t i = 0; i < cells; ++i) cellGate[i] *= inputGate[i];
  } else {
    for (size_t i = 0; i < cells; ++i) cellGate[i] *= 1 - forgetGate[i];
  }
  const ClampRange<float> range = clipRange(options_.cellClip);
  for (size_t i = 0; i < cells; ++i) {
    cell[i] = clampTo(forgetGate[i] * cell[i] + cellGate[i], range);
  }

  // The output gate uses the new state.
  finishSums(kOutputGate, outputGate, cell);
  activate(RecurrentActivation::SIGMOID, outputGate, cells);
  float* gated = gated_ + b * cells;
  std::copy_n(cell, cells, gated);
  activate(options_.activation, gated, cells);
  for (size_t i = 0; i < cells; ++i) gated[i] *= outputGate[i];
}

void LstmRun::project(RewindingServices& services) const {
  const size_t outputs = weights_.outputs;
  multiplyGates(services, order_.batch, gated_, {{weights_.projection}, outputs, weights_.cells},
                false, hidden_);
  const ClampRange<float> range = clipRange(options_.projectionClip);
  for (size_t b = 0; b < order_.batch; ++b) {
    float* row = hidden_ + b * outputs;
    if (const float* bias = weights_.projectionBias) {
      for (size_t i = 0; i < outputs; ++i) row[i] += bias[i];
    }
    for (size_t i = 0; i < outputs; ++i) row[i] = clampTo(row[i], range);
  }
}

void LstmRun::step(RewindingServices& services, float* sums) const {
  multiplyGates(services, order_.batch, hidden_, recurrent_, true, sums);
  const size_t width = recurrent_.width();
  services.parallelFor(order_.batch, std::max<size_t>(1, kGrainCells / weights_.cells),
                       [&](size_t begin, size_t end) {
                         for (size_t b = begin; b < end; ++b) updateRow(b, sums + b * width);
                       });
  if (weights_.projection != nullptr) project(services);
}

const float* pointerAt(const OperationContext& context, size_t i) {
  return context.hasInput(i) ? context.input(i).as<float>() : nullptr;
}

}  // namespace

GatePointers gatePointersAt(const OperationContext& context, size_t first) {
  GatePointers gates;
  for (size_t gate = 0; gate < kGates; ++gate) gates[gate] = pointerAt(context, first + gate);
  return gates;
}

LstmWeights lstmWeightsAt(const OperationContext& context, size_t first, size_t layerNorm) {
  LstmWeights weights;
  weights.input = gatePointersAt(context, first + kLstmInputWeights);
  weights.recurrent = gatePointersAt(context, first + kLstmRecurrentWeights);
  weights.peephole = {pointerAt(context, first + kLstmPeephole),
                      pointerAt(context, first + kLstmPeephole + 1), nullptr,
                      pointerAt(context, first + kLstmPeephole + 2)};
  weights.bias = gatePointersAt(context, first + kLstmBias);
  weights.layerNorm = gatePointersAt(context, layerNorm);
  weights.projection = pointerAt(context, first + kLstmProjection);
  weights.projectionBias = pointerAt(context, first + kLstmProjectionBias);
  const Tensor& input = context.input(first + kLstmInputWeights + kForgetGate);
  weights.cells = input.dims[0];
  weights.inputSize = input.dims[1];
  weights.outputs = context.input(first + kLstmRecurrentWeights + kForgetGate).dims[1];
  return weights;
}

GateWeights gateWeights(const GatePointers& gates, size_t cells, size_t depth) {
  GateWeights weights = {{}, cells, depth};
  for (const float* matrix : gates) {
    if (matrix != nullptr) weights.matrices.push_back(matrix);
  }
  return weights;
}

Status readLstmOptions(const OperationContext& context, size_t first, LstmOptions* options) {
  HALYARD_RETURN_IF_ERROR(readRecurrentActivation(context, first, &options->activation));
  HALYARD_RETURN_IF_ERROR(readClip(context, first + 1, "cell_clip", &options->cellClip));
  return readClip(context, first + 2, "projection_clip", &options->projectionClip);
}

void runLstm(KernelServices& services, const SequenceOrder& order, const LstmWeights& weights,
             const LstmOptions& options, std::span<const SequenceInput> inputs,
             const LstmStates& states, const SequenceOutput& output) {
  const LstmRun run(services, order, weights, options, states);
  runSequence(services, order, inputs, [&](RewindingServices& rewinding, size_t s, float* sums) {
    run.step(rewinding, sums);
    storeStep(order, s, run.hidden(), weights.outputs, output);
  });
  const auto store = [&](const float* from, size_t width, float* to) {
    if (to != nullptr) std::copy_n(from, order.batch * width, to);
  };
  store(run.hidden(), weights.outputs, states.finalHidden);
  store(run.cell(), weights.cells, states.finalCell);
}

}  // namespace halyard::ops
