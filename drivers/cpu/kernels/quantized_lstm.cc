// One step of the fixed-point LSTM: its weights are centred and laid out by depth when the first
// kernel is made that reads them; the arithmetic behind the products is the reference kernel's.
#include <cstring>
#include <memory>
#include <vector>

#include "kernels/integer_sums.h"
#include "kernels/makers.h"
#include "ops/multiply_accumulate.h"
#include "ops/quantized_lstm_cell.h"
#include "ops/simd.h"

namespace halyard::cpudriver {
namespace {

using namespace ops::quantized_lstm;  // NOLINT(google-build-using-namespace)

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

class QuantizedLstmKernel final : public Kernel {
 public:
  QuantizedLstmKernel(const KernelSite& site, const ops::QuantizedLstmPlan& plan)
      : plan_(plan),
        input_(GateWeights::of(site, kX, kInputWeights)),
        recurrent_(GateWeights::of(site, kHiddenState, kRecurrentWeights)),
        batch_(site.inputs[kX].dims[0]),
        cells_(site.inputs[kCellState].dims[1]) {
    // The plan points into operands; what they hold has to stay.
    for (ops::QuantizedLstmGate& gate : plan_.gates) {
      keep(gate.bias, &biases_);
      keep(gate.peepholeWeights, &weights_);
      keep(gate.layerNormWeights, &weights_);
    }
  }

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    const size_t width = input_->columns();
    auto* const sums = static_cast<uint32_t*>(services.scratch(2 * width * sizeof(uint32_t)));
    auto* const state = static_cast<int16_t*>(services.scratch(cells_ * sizeof(int16_t)));
    auto* const hidden = static_cast<int8_t*>(services.scratch(batch_ * cells_));
    for (size_t b = 0; b < batch_; ++b) {
      input_->multiply(operands.input<int8_t>(kX) + b * input_->depth(), sums);
      recurrent_->multiply(operands.input<int8_t>(kHiddenState) + b * recurrent_->depth(),
                           sums + width);
      std::memcpy(state, operands.input<int16_t>(kCellState) + b * cells_,
                  cells_ * sizeof(int16_t));
      ops::updateQuantizedLstm(plan_, cells_, reinterpret_cast<const int32_t*>(sums),
                               reinterpret_cast<const int32_t*>(sums + width), state, state,
                               hidden + b * cells_);
      std::memcpy(operands.output<int16_t>(1) + b * cells_, state, cells_ * sizeof(int16_t));
    }
    for (const size_t output : {0, 2}) {
      std::memcpy(operands.output<int8_t>(output), hidden, batch_ * cells_);
    }
    return okStatus();
  }

 private:
  template <typename T>
  void keep(const T*& values, std::vector<std::vector<T>>* kept) {
    if (values == nullptr) return;
    kept->emplace_back(values, values + cells_);
    values = kept->back().data();
  }

  ops::QuantizedLstmPlan plan_;
  const std::shared_ptr<const GateWeights> input_;
  const std::shared_ptr<const GateWeights> recurrent_;
  const size_t batch_;
  const size_t cells_;
  std::vector<std::vector<int32_t>> biases_;
  std::vector<std::vector<int16_t>> weights_;
};

}  // namespace

std::unique_ptr<Kernel> makeQuantizedLstm(const KernelSite& site) {
  for (size_t i = kCell; i < site.inputs.size(); ++i) {
    const bool isState = i == kHiddenState || i == kCellState;
    if (!isState && site.hasInput(i) && !site.isConstant(i)) return nullptr;
  }
  const ops::OperationContext context(site.inputs, {}, nullptr);
  ops::QuantizedLstmPlan plan;
  if (!ops::planQuantizedLstm(context, &plan).ok() || plan.hasProjection) return nullptr;
  return std::make_unique<QuantizedLstmKernel>(site, plan);
}

}  // namespace halyard::cpudriver
