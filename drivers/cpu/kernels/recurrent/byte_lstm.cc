// One step of the fixed-point LSTM whose values are unsigned bytes. Its weights are centred and
// laid out by depth when the kernel is made. The functions of a gate are computed for all cells at
// once.
#include <cstring>
#include <vector>

#include "kernels/makers.h"
#include "kernels/recurrent/integer_sums.h"
#include "kernels/vectors/aligned_buffer.h"
#include "ops/fixed_point.h"
#include "ops/lstm_operands.h"
#include "ops/multiply_accumulate.h"
#include "ops/quantized_16bit_lstm_cell.h"
#include "ops/simd.h"

namespace halyard::cpudriver {
namespace {

using namespace ops::quantized_16bit_lstm;  // NOLINT(google-build-using-namespace)
using ops::kGates;

constexpr size_t kProductsForThread = 200'000;

class ByteLstmKernel final : public Kernel {
 public:
  explicit ByteLstmKernel(const KernelSite& site)
      : batch_(site.inputs[kX].dims[0]),
        inputSize_(site.inputs[kX].dims[1]),
        cells_(site.inputs[kHidden].dims[1]),
        toGate_(gateMultiplier(site.inputs[kBias].scale)),
        weights_(
            site.pack<int16_t>(depth() * columns(), [&](int16_t* packed) { pack(site, packed); })) {
    for (size_t i = kInputWeights; i < kBias; ++i) site.release(i);
    for (size_t gate = 0; gate < kGates; ++gate) {
      const auto* const bias = site.inputs[kBias + gate].as<int32_t>();
      bias_.insert(bias_.end(), bias, bias + cells_);
    }
  }

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    services.parallelFor(batch_, kProductsForThread / (depth() * columns()) + 1,
                         [&](size_t begin, size_t end) {
                           for (size_t row = begin; row < end; ++row) runRow(operands, row);
                         });
    return okStatus();
  }

 private:
  size_t depth() const { return inputSize_ + cells_; }
  size_t columns() const { return kGates * cells_; }

  // A row of weights has the recurrent ones first, but the values have the input first. Each value
  // meets the weight at its place in the row, as the operation is defined.
  void pack(const KernelSite& site, int16_t* packed) const {
    std::vector<int16_t> column(depth());
    for (size_t c = 0; c < columns(); ++c) {
      const size_t gate = c / cells_;
      const size_t cell = c % cells_;
      ops::centerFilter(site.inputs[kRecurrentWeights + gate], cell * cells_, cells_,
                        column.data());
      ops::centerFilter(site.inputs[kInputWeights + gate], cell * inputSize_, inputSize_,
                        column.data() + cells_);
      for (size_t k = 0; k < depth(); ++k) packed[k * columns() + c] = column[k];
    }
  }

  void runRow(const KernelOperands& operands, size_t row) const {
    std::byte* memory = threadBuffer(columns() * (sizeof(uint32_t) + sizeof(int16_t)) + depth());
    auto* const sums = reinterpret_cast<uint32_t*>(memory);
    auto* const gates = reinterpret_cast<int16_t*>(memory + columns() * sizeof(uint32_t));
    auto* const values = reinterpret_cast<uint8_t*>(gates + columns());
    std::memcpy(values, operands.input<uint8_t>(kX) + row * inputSize_, inputSize_);
    std::memcpy(values + inputSize_, operands.input<uint8_t>(kHidden) + row * cells_, cells_);
    ops::runBest<&multiplyAll<uint8_t>, const uint8_t*, int32_t, size_t, const int16_t*, size_t,
                 uint32_t*>(values, kValueZeroPoint, depth(), weights_.data(), columns(), sums);
    for (size_t c = 0; c < columns(); ++c) {
      gates[c] = gateInput(bias_[c], static_cast<int32_t>(sums[c]), toGate_);
    }
    updateCells(gates, operands.input<int16_t>(kCellState) + row * cells_,
                operands.output<int16_t>(0) + row * cells_,
                operands.output<uint8_t>(1) + row * cells_);
  }

  // `gates` are what enters them, and memory to work in.
  void updateCells(int16_t* gates, const int16_t* before, int16_t* state, uint8_t* output) const {
    int16_t* const inputGate = gates + ops::kInputGate * cells_;
    int16_t* const forgetGate = gates + ops::kForgetGate * cells_;
    int16_t* const candidate = gates + ops::kCellGate * cells_;
    int16_t* const outputGate = gates + ops::kOutputGate * cells_;
    ops::sigmoidsFixed(inputGate, inputGate, 2 * cells_, kIntegerBits);
    ops::tanhsFixed(candidate, candidate, cells_, kIntegerBits);
    ops::sigmoidsFixed(outputGate, outputGate, cells_, kIntegerBits);
    for (size_t i = 0; i < cells_; ++i) {
      const int16_t now = nextState(inputGate[i], forgetGate[i], candidate[i], before[i]);
      state[i] = now;
      candidate[i] = tangentInput(now);
    }
    ops::tanhsFixed(candidate, candidate, cells_, kIntegerBits);
    for (size_t i = 0; i < cells_; ++i) {
      output[i] = hiddenValue(outputGate[i], candidate[i]);
    }
  }

  const size_t batch_;
  const size_t inputSize_;
  const size_t cells_;
  const ops::FixedMultiplier toGate_;
  const Packed<int16_t> weights_;  // [values][gates][cells]
  std::vector<int32_t> bias_;      // [gates][cells]
};

}  // namespace

std::unique_ptr<Kernel> makeByteLstm(const KernelSite& site) {
  for (size_t i = kInputWeights; i < kCellState; ++i) {
    if (!site.isConstant(i)) return nullptr;
  }
  return std::make_unique<ByteLstmKernel>(site);
}

}  // namespace halyard::cpudriver
