// LSTM operations: one step, a sequence, and a sequence from both ends.
#include <array>
#include <cstring>
#include <optional>

#include "kernels/makers.h"
#include "kernels/recurrent/lstm_cell.h"
#include "ops/linking.h"

namespace halyard::cpudriver {
namespace {

// Inputs of one step and of a sequence.
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

// LSTM, of one step.
class LstmStepKernel final : public Kernel {
 public:
  LstmStepKernel(LstmCell cell, size_t outputs, size_t scratchBytes)
      : cell_(std::move(cell)), outputs_(outputs), scratchBytes_(scratchBytes) {}

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    // The operation does not define its contents, but results should not depend on former contents
    // of memory.
    std::memset(operands.output<std::byte>(0), 0, scratchBytes_);
    cell_.run({operands.input<float>(kX),
               nullptr,
               operands.input<float>(kHiddenState),
               operands.input<float>(kCellState),
               {operands.output<float>(3), outputs_},
               operands.output<float>(1),
               operands.output<float>(2)},
              services);
    return okStatus();
  }

 private:
  const LstmCell cell_;
  const size_t outputs_;
  const size_t scratchBytes_;
};

class LstmSequenceKernel final : public Kernel {
 public:
  LstmSequenceKernel(LstmCell cell, size_t outputs) : cell_(std::move(cell)), outputs_(outputs) {}

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    const bool hasStates = operands.outputs.size() > 1;
    cell_.run({operands.input<float>(kX),
               nullptr,
               operands.input<float>(kHiddenState),
               operands.input<float>(kCellState),
               {operands.output<float>(0), outputs_},
               hasStates ? operands.output<float>(1) : nullptr,
               hasStates ? operands.output<float>(2) : nullptr},
              services);
    return okStatus();
  }

 private:
  const LstmCell cell_;
  const size_t outputs_;
};

// Inputs of a sequence from both ends.
constexpr size_t kAux = 39;
constexpr size_t kBothOptions = 48;
constexpr size_t kMerge = 51;
constexpr size_t kBothTimeMajor = 52;
constexpr size_t kStates[] = {35, 37};  // by direction
constexpr LstmPlaces kPlaces[] = {{1, kBothOptions, 53, 40}, {18, kBothOptions, 57, 44}};

class BidirectionalLstmKernel final : public Kernel {
 public:
  BidirectionalLstmKernel(LstmCell forward, LstmCell backward, ops::Linking linking, bool isMerged,
                          std::array<size_t, 2> outputs)
      : cells_{std::move(forward), std::move(backward)},
        linking_(linking),
        isMerged_(isMerged),
        outputs_(outputs) {}

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    // Where steps are short, each direction has a thread to itself, and no loop has to be divided.
    constexpr size_t kLongStep = size_t{1} << 21;  // products
    const bool isLong = cells_[0].productsOfStep() > kLongStep;
    services.parallelFor(2, isLong ? 2 : 1, [&](size_t begin, size_t end) {
      for (size_t direction = begin; direction < end; ++direction) {
        cells_[direction].run(valuesOf(operands, direction), services);
      }
    });
    return okStatus();
  }

 private:
  LstmValues valuesOf(const KernelOperands& operands, size_t direction) const {
    const bool isAux = direction == 1 && linking_ == ops::Linking::PARALLEL;
    const size_t width = isMerged_ ? outputs_[0] + outputs_[1] : outputs_[direction];
    float* const output = operands.output<float>(isMerged_ ? 0 : direction) +
                          (isMerged_ && direction == 1 ? outputs_[0] : 0);
    const auto stateAfter = [&](size_t state) {
      const size_t i = (isMerged_ ? 1 : 2) + 2 * direction + state;
      return i < operands.outputs.size() ? operands.output<float>(i) : nullptr;
    };
    return {operands.input<float>(isAux ? kAux : kX),
            linking_ == ops::Linking::CROSS ? operands.input<float>(kAux) : nullptr,
            operands.input<float>(kStates[direction]),
            operands.input<float>(kStates[direction] + 1),
            {output, width},
            stateAfter(0),
            stateAfter(1)};
  }

  const LstmCell cells_[2];
  const ops::Linking linking_;
  const bool isMerged_;
  const std::array<size_t, 2> outputs_;
};

}  // namespace

std::unique_ptr<Kernel> makeLstm(const KernelSite& site) {
  auto cell = LstmCell::make(site, {kWeights, kOptions, kStepLayerNorm},
                             {.batch = site.inputs[kX].dims[0]});
  if (!cell) return nullptr;
  const size_t scratchBytes = site.outputs[0].elementCount() * sizeof(float);
  return std::make_unique<LstmStepKernel>(std::move(*cell), site.inputs[kHiddenState].dims[1],
                                          scratchBytes);
}

std::unique_ptr<Kernel> makeLstmSequence(const KernelSite& site) {
  const ops::OperationContext context(site.inputs, {}, nullptr);
  bool timeMajor = false;
  if (!context.read(kTimeMajor, &timeMajor).ok()) return nullptr;
  const Shape& dims = site.inputs[kX].dims;
  auto cell = LstmCell::make(site, {kWeights, kOptions, kSequenceLayerNorm},
                             {dims[timeMajor ? 0 : 1], dims[timeMajor ? 1 : 0], timeMajor, false});
  if (!cell) return nullptr;
  return std::make_unique<LstmSequenceKernel>(std::move(*cell), site.inputs[kHiddenState].dims[1]);
}

std::unique_ptr<Kernel> makeBidirectionalLstm(const KernelSite& site) {
  const ops::OperationContext context(site.inputs, {}, nullptr);
  bool timeMajor = false;
  bool isMerged = false;
  if (!context.read(kBothTimeMajor, &timeMajor).ok() || !context.read(kMerge, &isMerged).ok()) {
    return nullptr;
  }
  const bool hasAuxWeights = site.hasInput(kPlaces[0].auxWeights + ops::kForgetGate);
  const ops::Linking linking = !site.hasInput(kAux) ? ops::Linking::NONE
                               : hasAuxWeights      ? ops::Linking::CROSS
                                                    : ops::Linking::PARALLEL;
  const Shape& dims = site.inputs[kX].dims;
  std::array<std::optional<LstmCell>, 2> cells;
  for (const size_t direction : {0, 1}) {
    LstmPlaces places = kPlaces[direction];
    if (linking != ops::Linking::CROSS) places.auxWeights = 0;
    cells[direction] = LstmCell::make(
        site, places,
        {dims[timeMajor ? 0 : 1], dims[timeMajor ? 1 : 0], timeMajor, direction == 1});
    if (!cells[direction]) return nullptr;
  }
  return std::make_unique<BidirectionalLstmKernel>(
      std::move(*cells[0]), std::move(*cells[1]), linking, isMerged,
      std::array<size_t, 2>{site.inputs[kStates[0]].dims[1], site.inputs[kStates[1]].dims[1]});
}

}  // namespace halyard::cpudriver
