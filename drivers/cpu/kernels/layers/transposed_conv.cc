// Transposed convolution: an ordinary convolution for each phase of the stride. It uses every
// stride-th tap of the filter. Its results go to every stride-th position of the output.
#include "ops/transposed_geometry.h"

#include <algorithm>
#include <cstring>

#include "kernels/layers/conv_site.h"
#include "kernels/layers/patch_rows.h"
#include "kernels/makers.h"
#include "kernels/matrix/product_parts.h"
#include "ops/small_copy.h"

namespace halyard::cpudriver {
namespace {

struct PhasePair {
  ops::Phase height;
  ops::Phase width;
  size_t firstLine;
  size_t firstColumn;
};

class TransposedConvKernel final : public Kernel {
 public:
  explicit TransposedConvKernel(ProductParts products) : products_(std::move(products)) {}

  bool readsConstants() const override { return false; }

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    products_.run(operands.input<std::byte>(0), operands.output<std::byte>(0), services);
    return okStatus();
  }

 private:
  const ProductParts products_;
};

// The taps of one phase in the order of its window, [channels][depth].
std::vector<std::byte> filterOf(const KernelSite& site, const ops::TransposedPlan& plan,
                                const PhasePair& phase) {
  const size_t cellBytes = plan.input.channels * elementSize(site.inputs[1].type);
  const auto taps = static_cast<size_t>(phase.height.axis.filter * phase.width.axis.filter);
  std::vector<std::byte> filter(plan.output.channels * taps * cellBytes);
  std::byte* to = filter.data();
  for (size_t channel = 0; channel < plan.output.channels; ++channel) {
    const auto line = static_cast<int64_t>(channel) * plan.height.filter;
    for (int64_t k = 0; k < phase.height.axis.filter; ++k) {
      for (int64_t l = 0; l < phase.width.axis.filter; ++l, to += cellBytes) {
        const int64_t cell = (line + phase.height.tap(k, plan.height.stride)) * plan.width.filter +
                             phase.width.tap(l, plan.width.stride);
        std::memcpy(to, site.inputs[1].as<std::byte>() + static_cast<size_t>(cell) * cellBytes,
                    cellBytes);
      }
    }
  }
  return filter;
}

ProductPart::Store storeOf(const ops::TransposedPlan& plan, const PhasePair& phase,
                           size_t cellBytes) {
  const auto width = static_cast<size_t>(phase.width.axis.output);
  const auto height = static_cast<size_t>(phase.height.axis.output);
  return [=](const std::byte* from, size_t begin, size_t end, std::byte* to) {
    for (size_t row = begin; row < end;) {
      const size_t line = row / width;
      const size_t y = line % height * static_cast<size_t>(plan.height.stride) + phase.firstLine;
      const size_t x = row % width * static_cast<size_t>(plan.width.stride) + phase.firstColumn;
      std::byte* at =
          to + ((line / height * plan.output.height + y) * plan.output.width + x) * cellBytes;
      const size_t lineEnd = std::min(end, (line + 1) * width);
      for (; row < lineEnd; ++row, from += cellBytes) {
        ops::copySmall(at, from, cellBytes);
        at += static_cast<size_t>(plan.width.stride) * cellBytes;
      }
    }
  };
}

bool addPart(const KernelSite& site, const ops::TransposedPlan& plan, const PhasePair& phase,
             ops::FuseCode activation, std::vector<ProductPart>* parts) {
  const size_t element = elementSize(site.inputs[0].type);
  const size_t columns = plan.output.channels;
  ConvSite conv;
  conv.input = plan.input;
  conv.window = {phase.height.axis, phase.width.axis};
  conv.output = {plan.output.batch, static_cast<size_t>(phase.height.axis.output),
                 static_cast<size_t>(phase.width.axis.output), columns};
  const auto taps = static_cast<size_t>(phase.height.axis.filter * phase.width.axis.filter);
  const std::vector<std::byte> filter = filterOf(site, plan, phase);
  const PartSite part(site, filter.data(), 0, columns, taps * plan.input.channels);
  auto layer = makeMatrixLayer(part.site(), columns, activation);
  if (layer == nullptr) return false;
  RowSource rows = patchRows(conv, element, *layer);
  parts->push_back({std::move(layer), std::move(rows), 0, storeOf(plan, phase, columns * element)});
  return true;
}

}  // namespace

std::unique_ptr<Kernel> makeTransposedConv(const KernelSite& site) {
  constexpr size_t kMostPhases = 64;
  if (!hasConstantWeights(site)) return nullptr;
  const ops::OperationContext context(site.inputs, {}, nullptr);
  ops::TransposedPlan plan;
  ops::FuseCode activation = ops::FuseCode::NONE;
  if (!ops::readTransposedPlan(context, &plan).ok() || plan.nchw ||
      !ops::readFuseCode(context, plan.activationInput, &activation).ok()) {
    return nullptr;
  }
  const std::vector<size_t> lines = ops::reachedPhases(plan.height);
  const std::vector<size_t> columns = ops::reachedPhases(plan.width);
  // Positions that no tap reaches hold the bias alone: rare enough for the reference kernel.
  if (lines.size() < plan.height.phases() || columns.size() < plan.width.phases() ||
      lines.size() * columns.size() > kMostPhases) {
    return nullptr;
  }
  std::vector<ProductPart> parts;
  for (const size_t line : lines) {
    for (const size_t column : columns) {
      const PhasePair phase = {ops::phaseOf(plan.height, line), ops::phaseOf(plan.width, column),
                               line, column};
      if (!addPart(site, plan, phase, activation, &parts)) return nullptr;
    }
  }
  site.release(1);
  return std::make_unique<TransposedConvKernel>(ProductParts(std::move(parts)));
}

}  // namespace halyard::cpudriver
