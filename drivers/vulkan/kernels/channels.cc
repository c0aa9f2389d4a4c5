#include "kernels/channels.h"

#include "kernels/packed_filter.h"
#include "kernels/product.h"
#include "ops/multiply_accumulate.h"

namespace halyard::vulkandriver {
namespace {

// As in shaders/channels.comp.
constexpr int32_t kDense = 4;  // in OPTION
constexpr int32_t k3x3 = 8;
constexpr size_t kPositions = 4;

// Sums of bytes, and of products of bytes, are exact as float32.
constexpr int64_t kMostCells = 1 << 16;
constexpr int64_t kMostTaps = 256;

size_t stripesOf(const WindowPlan& plan) {
  return (plan.output.width + kPositions - 1) / kPositions;
}

size_t itemsOf(const WindowPlan& plan) {
  return plan.output.batch * plan.output.height * stripesOf(plan) * (plan.output.channels / 4);
}

bool isTaken(const Site& site, const WindowPlan& plan, ElementKind kind) {
  if (plan.nchw || plan.output.channels % 4 != 0 || itemsOf(plan) >= kMostItems) return false;
  if (kind == ElementKind::INT32 || kind == ElementKind::BOOL8) return false;
  const int64_t cells = plan.window.height.filter * plan.window.width.filter;
  if (plan.function == WindowFunction::NORM) return false;
  if (plan.function != WindowFunction::SUM) return isReal(kind) || cells <= kMostCells;
  if (plan.resultsOfGroup != 1) return false;
  if (isReal(kind)) return true;
  const ops::Tensor& bias = site.input(2);
  return cells <= kMostTaps && bias.data != nullptr &&
         sumsFit(bias, {plan.output.channels, static_cast<size_t>(cells), 1});
}

}  // namespace

Result<bool> addChannels(const Site& site, const WindowPlan& plan, Recording& recording) {
  HALYARD_ASSIGN_OR_RETURN(const ElementKind kind, elementKind(site.input(0).type));
  if (!isTaken(site, plan, kind)) return false;
  const bool isSum = plan.function == WindowFunction::SUM;
  ElementKind filterKind = kind;
  if (isSum) {
    HALYARD_ASSIGN_OR_RETURN(filterKind, elementKind(site.input(1).type));
  }
  const auto& [height, width] = plan.window;
  const size_t fours = plan.output.channels / 4;
  std::vector<Parameter> parameters = {site.in(0), isSum ? site.in(1) : site.in(0),
                                       isSum ? site.in(2) : site.in(0), site.out(0)};
  const auto append = [&parameters](auto... values) {
    (parameters.emplace_back(static_cast<int32_t>(values)), ...);
  };
  append(fours, stripesOf(plan), plan.output.height, plan.output.width);
  append(height.input, width.input, plan.input.height * plan.input.width * fours,
         plan.input.width * fours);
  append(height.stride, width.stride, height.dilation, width.dilation);
  append(height.filter, width.filter, height.padBefore, width.padBefore);
  if (!isReal(kind)) {
    const auto range = ops::activationRange(plan.activation, site.output(0));
    Parameter multipliers = 0;
    if (isSum) {
      HALYARD_ASSIGN_OR_RETURN(multipliers, addMultipliers(site, plan.output.channels, recording));
    }
    parameters.push_back(multipliers);
    append(site.input(0).zeroPoint, isSum ? ops::filterZeroPoint(site.input(1)) : 0,
           site.output(0).zeroPoint);
    append(range.min, range.max);
  }
  const bool isDense = width.stride == 1 && width.dilation == 1;
  const bool is3x3 = height.filter == 3 && width.filter == 3;
  recording.add(
      {Shader::CHANNELS,
       {static_cast<int32_t>(plan.function), static_cast<int32_t>(kind),
        static_cast<int32_t>(filterKind),
        static_cast<int32_t>(plan.activation) | (isDense ? kDense : 0) | (is3x3 ? k3x3 : 0)},
       std::move(parameters),
       static_cast<uint32_t>(itemsOf(plan))});
  return true;
}

}  // namespace halyard::vulkandriver
