// The fixed-point LSTM: one step, and sequences of steps. The first kernel that reads the weights
// centres them and lays them out by depth when it is made. The arithmetic behind the products is
// the reference kernel's.
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/makers.h"
#include "kernels/recurrent/integer_sums.h"
#include "ops/multiply_accumulate.h"
#include "ops/quantized_lstm_cell.h"
#include "ops/sequence.h"
#include "ops/simd.h"

namespace halyard::cpudriver {
namespace {

using namespace ops::quantized_lstm;  // NOLINT(google-build-using-namespace)

constexpr size_t kProductsForThread = 200'000;

// The weights of all gates that there are for one kind of values.
class GateWeights {
 public:
  GateWeights(const KernelSite& site, size_t values, size_t weights)
      : zeroPoint_(site.inputs[values].zeroPoint) {
    for (size_t gate = 0; gate < ops::kGates; ++gate) {
      if (site.hasInput(weights + gate)) columns_ += site.inputs[weights + gate].dims[0];
    }
    depth_ = site.inputs[weights + ops::kForgetGate].dims[1];
    packed_ = site.pack<int16_t>(columns_ * depth_,
                                 [&](int16_t* packed) { pack(site, weights, packed); });
  }

  // Unrolled steps have the same.
  static std::shared_ptr<const GateWeights> of(const KernelSite& site, size_t values,
                                               size_t weights) {
    std::vector<size_t> from;
    for (size_t gate = 0; gate < ops::kGates; ++gate) {
      if (site.hasInput(weights + gate)) from.push_back(weights + gate);
    }
    auto made = site.share<GateWeights>(from, site.inputs[values].zeroPoint, [&] {
      return std::make_shared<const GateWeights>(site, values, weights);
    });
    for (const size_t input : from) site.release(input);
    return made;
  }

  size_t columns() const { return columns_; }
  size_t depth() const { return depth_; }
  void multiply(const int8_t* values, uint32_t* sums) const {
    ops::runBest<&multiplyAll<int8_t>>(values, zeroPoint_, depth_, packed_.data(), columns_, sums);
  }

 private:
  void pack(const KernelSite& site, size_t weights, int16_t* packed) const {
    std::vector<int16_t> column(depth_);
    for (size_t gate = 0, first = 0; gate < ops::kGates; ++gate) {
      if (!site.hasInput(weights + gate)) continue;
      const ops::Tensor& matrix = site.inputs[weights + gate];
      for (size_t i = 0; i < matrix.dims[0]; ++i) {
        ops::centerFilter(matrix, i * depth_, depth_, column.data());
        for (size_t k = 0; k < depth_; ++k) packed[k * columns_ + first + i] = column[k];
      }
      first += matrix.dims[0];
    }
  }

  const int32_t zeroPoint_;
  size_t columns_ = 0;
  size_t depth_ = 0;
  Packed<int16_t> packed_;  // [depth][columns]
};

// The cell, apart from where its operands lie.
class Cell {
 public:
  Cell(const KernelSite& site, const ops::QuantizedLstmPlan& plan)
      : plan_(plan),
        input_(GateWeights::of(site, kX, kInputWeights)),
        recurrent_(GateWeights::of(site, kHiddenState, kRecurrentWeights)),
        count_(site.inputs[kCellState].dims[1]) {
    // The plan points into operands; their contents must stay.
    for (ops::QuantizedLstmGate& gate : plan_.gates) {
      keep(gate.bias, &biases_);
      keep(gate.peepholeWeights, &weights_);
      keep(gate.layerNormWeights, &weights_);
    }
  }
  Cell(const Cell&) = delete;  // the plan points into it
  Cell& operator=(const Cell&) = delete;

  size_t count() const { return count_; }
  size_t depth() const { return input_->depth(); }
  // Of a step: how many sums it needs room for, and how many products it takes.
  size_t sums() const { return 2 * input_->columns(); }
  size_t products() const { return (depth() + recurrent_->depth()) * input_->columns(); }

  // One step of one row of the batch. `state` is that before it, and then that behind it; `hidden`
  // and `result` may be the same.
  void step(const int8_t* x, const int8_t* hidden, uint32_t* sums, int16_t* state,
            int8_t* result) const {
    uint32_t* const recurrentSums = sums + input_->columns();
    input_->multiply(x, sums);
    recurrent_->multiply(hidden, recurrentSums);
    ops::updateQuantizedLstm(plan_, count_, reinterpret_cast<const int32_t*>(sums),
                             reinterpret_cast<const int32_t*>(recurrentSums), state, state, result);
  }

 private:
  template <typename T>
  void keep(const T*& values, std::vector<std::vector<T>>* kept) {
    if (values == nullptr) return;
    kept->emplace_back(values, values + count_);
    values = kept->back().data();
  }

  ops::QuantizedLstmPlan plan_;
  const std::shared_ptr<const GateWeights> input_;
  const std::shared_ptr<const GateWeights> recurrent_;
  const size_t count_;
  std::vector<std::vector<int32_t>> biases_;
  std::vector<std::vector<int16_t>> weights_;
};

class StepKernel final : public Kernel {
 public:
  StepKernel(const KernelSite& site, const ops::QuantizedLstmPlan& plan)
      : cell_(site, plan), batch_(site.inputs[kX].dims[0]) {}

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    const size_t cells = cell_.count();
    auto* const sums = static_cast<uint32_t*>(services.scratch(cell_.sums() * sizeof(uint32_t)));
    auto* const state = static_cast<int16_t*>(services.scratch(cells * sizeof(int16_t)));
    auto* const hidden = static_cast<int8_t*>(services.scratch(batch_ * cells));
    for (size_t b = 0; b < batch_; ++b) {
      std::memcpy(state, operands.input<int16_t>(kCellState) + b * cells, cells * sizeof(int16_t));
      cell_.step(operands.input<int8_t>(kX) + b * cell_.depth(),
                 operands.input<int8_t>(kHiddenState) + b * cells, sums, state, hidden + b * cells);
      std::memcpy(operands.output<int16_t>(1) + b * cells, state, cells * sizeof(int16_t));
    }
    for (const size_t output : {0, 2}) {
      std::memcpy(operands.output<int8_t>(output), hidden, batch_ * cells);
    }
    return okStatus();
  }

 private:
  const Cell cell_;
  const size_t batch_;
};

class SequenceKernel final : public Kernel {
 public:
  SequenceKernel(const KernelSite& site, const ops::QuantizedLstmPlan& plan,
                 const ops::SequenceOrder& order)
      : cell_(site, plan), order_(order) {}

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    const size_t cells = cell_.count();
    const size_t batch = order_.batch;
    auto* const sums =
        static_cast<uint32_t*>(services.scratch(batch * cell_.sums() * sizeof(uint32_t)));
    auto* const states = static_cast<int16_t*>(services.scratch(batch * cells * sizeof(int16_t)));
    auto* const hidden = static_cast<int8_t*>(services.scratch(batch * cells));
    std::memcpy(states, operands.input<int16_t>(kCellState), batch * cells * sizeof(int16_t));
    std::memcpy(hidden, operands.input<int8_t>(kHiddenState), batch * cells);
    // Step by step, so that a run can be cancelled between them.
    for (size_t s = 0; s < order_.steps; ++s) {
      services.parallelFor(batch, kProductsForThread / cell_.products() + 1,
                           [&](size_t begin, size_t end) {
                             for (size_t b = begin; b < end; ++b) {
                               const size_t row = order_.row(s, b);
                               int8_t* const values = hidden + b * cells;
                               cell_.step(operands.input<int8_t>(kX) + row * cell_.depth(), values,
                                          sums + b * cell_.sums(), states + b * cells, values);
                               std::memcpy(operands.output<int8_t>(0) + row * cells, values, cells);
                             }
                           });
    }
    return okStatus();
  }

 private:
  const Cell cell_;
  const ops::SequenceOrder order_;
};

// The plan of a cell whose weights are known; none for one with a projection.
std::optional<ops::QuantizedLstmPlan> planOf(const KernelSite& site) {
  for (size_t i = kCell; i < site.inputs.size(); ++i) {
    const bool isState = i == kHiddenState || i == kCellState;
    if (!isState && site.hasInput(i) && !site.isConstant(i)) return std::nullopt;
  }
  const ops::OperationContext context(site.inputs, {}, nullptr);
  ops::QuantizedLstmPlan plan;
  if (!ops::planQuantizedLstm(context, &plan).ok() || plan.hasProjection) return std::nullopt;
  return plan;
}

}  // namespace

std::unique_ptr<Kernel> makeQuantizedLstm(const KernelSite& site) {
  const auto plan = planOf(site);
  return plan ? std::make_unique<StepKernel>(site, *plan) : nullptr;
}

std::unique_ptr<Kernel> makeQuantizedLstmSequence(const KernelSite& site) {
  const auto plan = planOf(site);
  if (!plan) return nullptr;
  const ops::OperationContext context(site.inputs, {}, nullptr);
  ops::SequenceOrder order;
  if (!ops::readQuantizedSequence(context, &order).ok()) return nullptr;
  return std::make_unique<SequenceKernel>(site, *plan, order);
}

}  // namespace halyard::cpudriver
