// The plain recurrent cell: one step, a sequence, and a sequence from both ends.
#include <array>
#include <optional>
#include <span>

#include "kernels/makers.h"
#include "kernels/recurrent/recurrent_steps.h"
#include "ops/linking.h"

namespace halyard::cpudriver {
namespace {

// Places of a cell's operands, after its first.
enum Part : size_t { kWeights, kRecurrent, kBias, kState };

class RnnCell {
 public:
  // `first`: the cell's first operand; `aux`: the weights of an auxiliary input, 0 without one.
  static std::optional<RnnCell> make(const KernelSite& site, size_t first, size_t aux,
                                     size_t activation, const ops::SequenceOrder& order) {
    const ops::OperationContext context(site.inputs, {}, nullptr);
    ops::RecurrentActivation code = ops::RecurrentActivation::NONE;
    if (site.inputs[0].type != OperandType::TENSOR_FLOAT32 || !site.isConstant(first + kWeights) ||
        !site.isConstant(first + kRecurrent) || !site.isConstant(first + kBias) ||
        (aux > 0 && !site.isConstant(aux)) ||
        !ops::readRecurrentActivation(context, activation, &code).ok() ||
        !fitsSums(order, site.inputs[first].dims[0])) {
      return std::nullopt;
    }
    return RnnCell(site, first, aux, code, order);
  }

  size_t units() const { return recurrent_.columns(); }
  size_t productsOfStep() const { return order_.batch * units() * units(); }

  // `aux` is read where the cell has weights for it; `stateAfter` may be null.
  void run(const float* x, const float* aux, const float* stateBefore,
           const ops::SequenceOutput& output, float* stateAfter,
           ops::KernelServices& services) const {
    const size_t batch = order_.batch;
    float* const hidden = scratchCopy(stateBefore, batch * units(), services);
    const StepInput inputs[] = {{x, &input_}, {aux, &aux_}};
    const size_t inputCount = aux_.columns() > 0 ? 2 : 1;
    forEachStep(order_, {inputs, inputCount}, services, [&](size_t step, const StepSums& sums) {
      addState(recurrent_, {hidden, units(), batch}, step, sums, services);
      for (size_t b = 0; b < batch; ++b) {
        applyActivation(*functions_, activation_, sums.first + b * sums.stride,
                        hidden + b * units(), units());
      }
      ops::storeStep(order_, step, hidden, units(), output);
    });
    if (stateAfter != nullptr) std::copy_n(hidden, batch * units(), stateAfter);
  }

 private:
  RnnCell(const KernelSite& site, size_t first, size_t aux, ops::RecurrentActivation activation,
          const ops::SequenceOrder& order)
      : order_(order), activation_(activation), functions_(&floatFunctions(site.level)) {
    const auto matrixOf = [&](size_t i, const float* bias, size_t rows) {
      const Shape& dims = site.inputs[i].dims;
      return PackedFloats::ofInputs(site, {i}, dims[0], dims[1], bias, rows);
    };
    const size_t allRows = order.batch * order.steps;
    input_ = matrixOf(first + kWeights, site.inputs[first + kBias].as<float>(), allRows);
    if (aux > 0) aux_ = matrixOf(aux, nullptr, allRows);
    recurrent_ = matrixOf(first + kRecurrent, nullptr, order.batch);
  }

  ops::SequenceOrder order_;
  PackedFloats input_;
  PackedFloats aux_;  // without columns: none
  PackedFloats recurrent_;
  ops::RecurrentActivation activation_;
  const FloatFunctions* functions_;
};

// One step or one sequence; which output is the sequence and which the state differs.
class RnnKernel final : public Kernel {
 public:
  RnnKernel(RnnCell cell, size_t sequenceOutput)
      : cell_(std::move(cell)), sequenceOutput_(sequenceOutput) {}

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    const bool hasState = operands.outputs.size() > 1;
    cell_.run(operands.input<float>(0), nullptr, operands.input<float>(1 + kState),
              {operands.output<float>(sequenceOutput_), cell_.units()},
              hasState ? operands.output<float>(1 - sequenceOutput_) : nullptr, services);
    return okStatus();
  }

 private:
  const RnnCell cell_;
  const size_t sequenceOutput_;
};

// Inputs of a sequence from both ends.
constexpr size_t kCells[] = {1, 5};
constexpr size_t kAux = 9;
constexpr size_t kAuxWeights[] = {10, 11};
constexpr size_t kBothActivation = 12;
constexpr size_t kBothTimeMajor = 13;
constexpr size_t kMerge = 14;

class BidirectionalRnnKernel final : public Kernel {
 public:
  BidirectionalRnnKernel(RnnCell forward, RnnCell backward, ops::Linking linking, bool isMerged)
      : cells_{std::move(forward), std::move(backward)}, linking_(linking), isMerged_(isMerged) {}

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    // As for LSTM cells.
    constexpr size_t kLongStep = size_t{1} << 21;  // products
    const bool isLong = cells_[0].productsOfStep() > kLongStep;
    services.parallelFor(2, isLong ? 2 : 1, [&](size_t begin, size_t end) {
      for (size_t direction = begin; direction < end; ++direction) {
        runDirection(operands, direction, services);
      }
    });
    return okStatus();
  }

 private:
  void runDirection(const KernelOperands& operands, size_t direction,
                    ops::KernelServices& services) const {
    const bool isAux = direction == 1 && linking_ == ops::Linking::PARALLEL;
    const size_t forward = cells_[0].units();
    const size_t width = isMerged_ ? forward + cells_[1].units() : cells_[direction].units();
    float* const output = operands.output<float>(isMerged_ ? 0 : direction) +
                          (isMerged_ && direction == 1 ? forward : 0);
    const size_t state = (isMerged_ ? 1 : 2) + direction;
    cells_[direction].run(operands.input<float>(isAux ? kAux : 0),
                          linking_ == ops::Linking::CROSS ? operands.input<float>(kAux) : nullptr,
                          operands.input<float>(kCells[direction] + kState), {output, width},
                          state < operands.outputs.size() ? operands.output<float>(state) : nullptr,
                          services);
  }

  const RnnCell cells_[2];
  const ops::Linking linking_;
  const bool isMerged_;
};

ops::SequenceOrder orderOf(const Shape& dims, bool timeMajor, bool isBackward) {
  return {dims[timeMajor ? 0 : 1], dims[timeMajor ? 1 : 0], timeMajor, isBackward};
}

}  // namespace

std::unique_ptr<Kernel> makeRnn(const KernelSite& site) {
  auto cell = RnnCell::make(site, 1, 0, 5, {.batch = site.inputs[0].dims[0]});
  return cell ? std::make_unique<RnnKernel>(std::move(*cell), 1) : nullptr;
}

std::unique_ptr<Kernel> makeRnnSequence(const KernelSite& site) {
  const ops::OperationContext context(site.inputs, {}, nullptr);
  int32_t timeMajor = 0;
  if (!context.read(6, &timeMajor).ok()) return nullptr;
  auto cell = RnnCell::make(site, 1, 0, 5, orderOf(site.inputs[0].dims, timeMajor == 1, false));
  return cell ? std::make_unique<RnnKernel>(std::move(*cell), 0) : nullptr;
}

std::unique_ptr<Kernel> makeBidirectionalRnn(const KernelSite& site) {
  const ops::OperationContext context(site.inputs, {}, nullptr);
  bool timeMajor = false;
  bool isMerged = false;
  if (!context.read(kBothTimeMajor, &timeMajor).ok() || !context.read(kMerge, &isMerged).ok()) {
    return nullptr;
  }
  const ops::Linking linking = !site.hasInput(kAux)            ? ops::Linking::NONE
                               : site.hasInput(kAuxWeights[0]) ? ops::Linking::CROSS
                                                               : ops::Linking::PARALLEL;
  std::array<std::optional<RnnCell>, 2> cells;
  for (const size_t direction : {0, 1}) {
    const size_t aux = linking == ops::Linking::CROSS ? kAuxWeights[direction] : 0;
    cells[direction] = RnnCell::make(site, kCells[direction], aux, kBothActivation,
                                     orderOf(site.inputs[0].dims, timeMajor, direction == 1));
    if (!cells[direction]) return nullptr;
  }
  return std::make_unique<BidirectionalRnnKernel>(std::move(*cells[0]), std::move(*cells[1]),
                                                  linking, isMerged);
}

}  // namespace halyard::cpudriver
