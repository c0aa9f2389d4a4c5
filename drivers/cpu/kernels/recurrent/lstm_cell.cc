// The LSTM cell. The products of the inputs of all steps are computed at once. Then, step by step,
// those of the hidden values are added, and all gates of a cell are computed together.
#include "kernels/recurrent/lstm_cell.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace halyard::cpudriver {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr size_t kCellsForThread = 4096;

float limitOf(float clip) { return clip > 0 ? clip : kInfinity; }

AlignedBuffer<float> copyOf(const float* values, size_t count) {
  if (values == nullptr) return {};
  AlignedBuffer<float> copy(count);
  std::copy_n(values, count, copy.data());
  return copy;
}

HALYARD_ALWAYS_INLINE void addProducts(const float* a, const float* b, float* sums, size_t count) {
  for (size_t i = 0; i < count; ++i) sums[i] += a[i] * b[i];
}
HALYARD_ALWAYS_INLINE void addAll(const float* a, float* sums, size_t count) {
  for (size_t i = 0; i < count; ++i) sums[i] += a[i];
}
HALYARD_ALWAYS_INLINE void multiplyAll(const float* a, float* to, size_t count) {
  for (size_t i = 0; i < count; ++i) to[i] *= a[i];
}
// The inputs of a new state. `input` is null where it is the complement of the forget gate.
HALYARD_ALWAYS_INLINE void updateStates(const float* forget, const float* input,
                                        const float* candidate, float limit, float* state,
                                        size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const float share = input != nullptr ? input[i] : 1 - forget[i];
    state[i] = ops::clampTo(forget[i] * state[i] + share * candidate[i], {-limit, limit});
  }
}

// To mean 0 and variance 1, times `weights`. Sums are added up in several parts.
HALYARD_ALWAYS_INLINE void normalize(const float* weights, float* values, size_t count) {
  constexpr double kVarianceFloor = 1e-8;
  constexpr size_t kParts = 8;
  const auto total = [&](auto term) {
    double parts[kParts] = {};
    size_t i = 0;
    for (; i + kParts <= count; i += kParts) {
      for (size_t p = 0; p < kParts; ++p) parts[p] += term(static_cast<double>(values[i + p]));
    }
    for (; i < count; ++i) parts[0] += term(static_cast<double>(values[i]));
    double sum = 0;
    for (const double part : parts) sum += part;
    return sum;
  };
  const double mean = total([](double x) { return x; }) / static_cast<double>(count);
  const double squares = total([mean](double x) { return (x - mean) * (x - mean); });
  const double factor = 1 / std::sqrt(squares / static_cast<double>(count) + kVarianceFloor);
  for (size_t i = 0; i < count; ++i) {
    const double normal = (static_cast<double>(values[i]) - mean) * factor;
    values[i] = static_cast<float>(normal) * weights[i];
  }
}

bool hasConstants(const KernelSite& site, size_t first, size_t count) {
  for (size_t i = first; i < first + count; ++i) {
    if (site.hasInput(i) && !site.isConstant(i)) return false;
  }
  return true;
}

}  // namespace

std::optional<LstmCell> LstmCell::make(const KernelSite& site, const LstmPlaces& places,
                                       const ops::SequenceOrder& order) {
  if (site.inputs[0].type != OperandType::TENSOR_FLOAT32 ||
      !hasConstants(site, places.weights, ops::kLstmWeightRows) ||
      !hasConstants(site, places.layerNorm, ops::kGates) ||
      (places.auxWeights > 0 && !hasConstants(site, places.auxWeights, ops::kGates))) {
    return std::nullopt;
  }
  const ops::OperationContext context(site.inputs, {}, nullptr);
  ops::LstmOptions options;
  if (!ops::readLstmOptions(context, places.options, &options).ok()) return std::nullopt;
  const ops::LstmWeights weights = ops::lstmWeightsAt(context, places.weights, places.layerNorm);
  if (!fitsSums(order, ops::kGates * weights.cells)) return std::nullopt;
  return LstmCell(site, places, weights, options, order);
}

LstmCell::LstmCell(const KernelSite& site, const LstmPlaces& places,
                   const ops::LstmWeights& weights, const ops::LstmOptions& options,
                   const ops::SequenceOrder& order)
    : order_(order),
      cells_(weights.cells),
      outputs_(weights.outputs),
      gateCount_(weights.hasInputGate() ? ops::kGates : ops::kGates - 1),
      activation_(options.activation),
      stateClip_(limitOf(options.cellClip)),
      projectionClip_(limitOf(options.projectionClip)),
      functions_(&floatFunctions(site.level)) {
  readGates(weights);
  const size_t allRows = order.batch * order.steps;
  std::vector<float> bias;
  for (size_t gate = ops::kGates - gateCount_; gate < ops::kGates; ++gate) {
    bias.insert(bias.end(), weights.bias[gate], weights.bias[gate] + cells_);
  }
  input_ = packGates(site, places.weights + ops::kLstmInputWeights, weights.inputSize,
                     hasLayerNorm_ ? nullptr : bias.data(), allRows);
  if (places.auxWeights > 0) {
    aux_ = packGates(site, places.auxWeights,
                     site.inputs[places.auxWeights + ops::kForgetGate].dims[1], nullptr, allRows);
  }
  recurrent_ =
      packGates(site, places.weights + ops::kLstmRecurrentWeights, outputs_, nullptr, order.batch);
  if (weights.projection == nullptr) return;
  projection_ = PackedFloats::ofInputs(site, {places.weights + ops::kLstmProjection}, outputs_,
                                       cells_, weights.projectionBias, order.batch);
}

PackedFloats LstmCell::packGates(const KernelSite& site, size_t first, size_t depth,
                                 const float* bias, size_t rows) const {
  std::vector<size_t> inputs;
  for (size_t gate = ops::kGates - gateCount_; gate < ops::kGates; ++gate) {
    inputs.push_back(first + gate);
  }
  return PackedFloats::ofInputs(site, inputs, cells_, depth, bias, rows);
}

void LstmCell::readGates(const ops::LstmWeights& weights) {
  const auto isThere = [](const float* pointer) { return pointer != nullptr; };
  hasPeepholes_ = std::ranges::any_of(weights.peephole, isThere);
  hasLayerNorm_ = std::ranges::any_of(weights.layerNorm, isThere);
  for (size_t gate = 0; gate < ops::kGates; ++gate) {
    gates_[gate].peephole = copyOf(weights.peephole[gate], cells_);
    gates_[gate].layerNorm = copyOf(weights.layerNorm[gate], cells_);
    if (hasLayerNorm_) gates_[gate].bias = copyOf(weights.bias[gate], cells_);
  }
}

void LstmCell::run(const LstmValues& values, ops::KernelServices& services) const {
  const size_t batch = order_.batch;
  const bool hasProjection = projection_.columns() > 0;
  auto* const hidden = scratchCopy(values.hiddenBefore, batch * outputs_, services);
  auto* const state = scratchCopy(values.cellBefore, batch * cells_, services);
  float* const gated = hasProjection
                           ? static_cast<float*>(services.scratch(batch * cells_ * sizeof(float)))
                           : hidden;
  const StepInput inputs[] = {{values.x, &input_}, {values.aux, &aux_}};
  const size_t inputCount = aux_.columns() > 0 ? 2 : 1;
  forEachStep(order_, {inputs, inputCount}, services, [&](size_t step, const StepSums& sums) {
    addState(recurrent_, {hidden, outputs_, batch}, step, sums, services);
    const auto update = [&](size_t begin, size_t end) {
      for (size_t b = begin; b < end; ++b) {
        updateRow(sums.first + b * sums.stride, state + b * cells_, gated + b * cells_);
      }
    };
    if (batch * cells_ <= kCellsForThread) {
      update(0, batch);
    } else {
      services.parallelFor(batch, kCellsForThread / cells_ + 1, update);
    }
    if (hasProjection) {
      multiplyRows(projection_, {gated, cells_, batch}, nullptr,
                   {-projectionClip_, projectionClip_}, hidden, outputs_, services);
    }
    ops::storeStep(order_, step, hidden, outputs_, values.output);
  });
  if (values.hiddenAfter != nullptr) std::copy_n(hidden, batch * outputs_, values.hiddenAfter);
  if (values.cellAfter != nullptr) std::copy_n(state, batch * cells_, values.cellAfter);
}

void LstmCell::finishSums(const Gate& gate, float* sums, const float* state) const {
  if (gate.peephole.size() > 0) {
    ops::runBest<&addProducts>(gate.peephole.data(), state, sums, cells_);
  }
  if (gate.layerNorm.size() > 0) {
    ops::runBest<&normalize>(gate.layerNorm.data(), sums, cells_);
  }
  if (gate.bias.size() > 0) ops::runBest<&addAll>(gate.bias.data(), sums, cells_);
}

// `sums` are those of the gates that there are, one after the other.
void LstmCell::updateRow(float* sums, float* state, float* gated) const {
  float* const inputGate = gateCount_ == ops::kGates ? sums : nullptr;
  float* const forgetGate = inputGate != nullptr ? sums + cells_ : sums;
  float* const cellGate = forgetGate + cells_;
  float* const outputGate = cellGate + cells_;
  if (inputGate != nullptr) finishSums(gates_[ops::kInputGate], inputGate, state);
  finishSums(gates_[ops::kForgetGate], forgetGate, state);
  finishSums(gates_[ops::kCellGate], cellGate, state);
  if (!hasPeepholes_ && activation_ == ops::RecurrentActivation::TANH) {
    finishSums(gates_[ops::kOutputGate], outputGate, state);
    functions_->lstmCells(
        {inputGate, forgetGate, cellGate, outputGate, state, gated, stateClip_, cells_});
    return;
  }
  if (inputGate != nullptr) functions_->sigmoid(inputGate, inputGate, cells_);
  functions_->sigmoid(forgetGate, forgetGate, cells_);
  applyActivation(*functions_, activation_, cellGate, cellGate, cells_);
  ops::runBest<&updateStates>(static_cast<const float*>(forgetGate),
                              static_cast<const float*>(inputGate),
                              static_cast<const float*>(cellGate), stateClip_, state, cells_);
  // The output gate looks at the new state.
  finishSums(gates_[ops::kOutputGate], outputGate, state);
  functions_->sigmoid(outputGate, outputGate, cells_);
  applyActivation(*functions_, activation_, state, gated, cells_);
  ops::runBest<&multiplyAll>(static_cast<const float*>(outputGate), gated, cells_);
}

}  // namespace halyard::cpudriver
