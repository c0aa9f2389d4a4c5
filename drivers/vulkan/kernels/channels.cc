#include "kernels/channels.h"

#include "kernels/packed_filter.h"
#include "kernels/product.h"
#include "ops/multiply_accumulate.h"

namespace halyard::vulkandriver {
namespace {

// As in shaders/channels.comp.
constexpr int32_t kDense = 4;  // in OPTION
constexpr int32_t k3x3 = 8;
constexpr int32_t kMultiplied = 16;
constexpr int32_t kShared = 32;
constexpr int32_t kRaw = 64;
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

bool isTaken(const WindowPlan& plan, ElementKind kind) {
  if (plan.output.channels % 4 != 0 || itemsOf(plan) >= kMostItems) return false;
  if (kind == ElementKind::INT32 || kind == ElementKind::BOOL8) return false;
  const int64_t cells = plan.window.height.filter * plan.window.width.filter;
  if (plan.function == WindowFunction::NORM) return false;
  return isReal(kind) || cells <= (plan.function == WindowFunction::SUM ? kMostTaps : kMostCells);
}

int32_t optionOf(const Site& site, const WindowPlan& plan, bool isReal) {
  const auto& [height, width] = plan.window;
  int32_t option = static_cast<int32_t>(plan.activation);
  if (width.stride == 1 && width.dilation == 1) option |= kDense;
  if (height.filter == 3 && width.filter == 3) option |= k3x3;
  if (plan.function != WindowFunction::SUM) return option;
  if (plan.resultsOfGroup != 1) option |= kMultiplied;
  if (plan.resultsOfGroup % 4 == 0) option |= kShared;
  const ops::Tensor& bias = site.input(2);
  const FilterShape shape = {plan.output.channels,
                             static_cast<size_t>(height.filter * width.filter), 1};
  if (!isReal && (bias.data == nullptr || !sumsFit(bias, shape))) option |= kRaw;
  return option;
}

}  // namespace

Result<bool> addChannels(const Site& site, const WindowPlan& plan, Recording& recording) {
  HALYARD_ASSIGN_OR_RETURN(const ElementKind kind, elementKind(site.input(0).type));
  if (!isTaken(plan, kind)) return false;
  const bool isSum = plan.function == WindowFunction::SUM;
  ElementKind filterKind = kind;
  if (isSum) {
    HALYARD_ASSIGN_OR_RETURN(filterKind, elementKind(site.input(1).type));
  }
  const auto& [height, width] = plan.window;
  const size_t fours = plan.output.channels / 4;
  const int32_t option = optionOf(site, plan, isReal(kind));
  // In fours, or in elements.
  const size_t column = (option & kMultiplied) != 0 ? plan.input.channels : fours;
  const size_t row = plan.input.width * column;
  HALYARD_ASSIGN_OR_RETURN(const Place image, orderedInput(site, plan, recording));
  const Place result = orderedOutput(site, plan, recording);
  std::vector<Parameter> parameters = {image, isSum ? site.in(1) : image,
                                       isSum ? site.in(2) : image, result};
  const auto append = [&parameters](auto... values) {
    (parameters.emplace_back(static_cast<int32_t>(values)), ...);
  };
  append(fours, stripesOf(plan), plan.output.height, plan.output.width);
  append(height.input, width.input, plan.input.height * row, row);
  append(height.stride, width.stride, height.dilation, width.dilation);
  append(height.filter, width.filter, height.padBefore, width.padBefore);
  if (isReal(kind)) {
    append(0, 0, 0, 0, 0, 0);
  } else {
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
  append(column, plan.resultsOfGroup);
  recording.add({Shader::CHANNELS,
                 {static_cast<int32_t>(plan.function), static_cast<int32_t>(kind),
                  static_cast<int32_t>(filterKind), option},
                 std::move(parameters),
                 static_cast<uint32_t>(itemsOf(plan))});
  HALYARD_RETURN_IF_ERROR(finishOutput(site, plan, result, recording));
  return true;
}

}  // namespace halyard::vulkandriver
