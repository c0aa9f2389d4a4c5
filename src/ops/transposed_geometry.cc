// Reads a transposed convolution's operands, and computes its phases.
#include "ops/transposed_geometry.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "ops/operand_checks.h"

namespace halyard::ops {
namespace {

constexpr size_t kInput = 0;
constexpr size_t kFilter = 1;
constexpr size_t kOutputShape = 3;  // implicit padding only
constexpr size_t kImplicitCount = 9;
constexpr int32_t kPaddingSame = 1;

struct AxisOptions {
  std::string_view name;     // "width"
  std::string_view padName;  // "left"
  int64_t padBefore = 0;
  int64_t padAfter = 0;
  std::optional<int64_t> requested;  // the requested output size, with SAME padding
};

Status resolveAxis(const AxisOptions& options, TransposedAxis* axis) {
  if (axis->stride <= 0) {
    return opFailed("stride {} is {}, expected more than 0", options.name, axis->stride);
  }
  if (options.padBefore < 0) {
    return opFailed("{} padding is {}, expected 0 or more", options.padName, options.padBefore);
  }
  axis->padBefore = options.padBefore;
  int64_t padAfter = options.padAfter;
  if (options.requested) {
    const int64_t wanted = *options.requested;
    const int64_t covered =
        ((wanted + axis->stride - 1) / axis->stride - 1) * axis->stride + axis->filter;
    axis->padBefore = std::max<int64_t>(0, covered - wanted) / 2;
    padAfter = covered - wanted - axis->padBefore;
  }
  axis->output = (axis->input - 1) * axis->stride + axis->filter - axis->padBefore - padAfter;
  if (axis->output <= 0 || axis->output > UINT32_MAX) {
    return opFailed("output {} would be {}, expected 1 to 4294967295", options.name, axis->output);
  }
  return okStatus();
}

// Reads the height and width in the output shape operand.
Status readOutputShape(const OperationContext& context, bool nchw, AxisOptions* height,
                       AxisOptions* width) {
  std::span<const int32_t> sizes;
  HALYARD_RETURN_IF_ERROR(context.readInts(kOutputShape, &sizes), "output shape");
  height->requested = sizes[nchw ? 2 : 1];
  width->requested = sizes[nchw ? 3 : 2];
  for (const AxisOptions* axis : {height, width}) {
    if (*axis->requested > 0) continue;
    return opFailed("output shape [{}] has {} {}, expected more than 0", fmt::join(sizes, ","),
                    axis->name, *axis->requested);
  }
  return okStatus();
}

}  // namespace

Phase phaseOf(const TransposedAxis& axis, size_t phase) {
  const int64_t shifted = static_cast<int64_t>(phase) + axis.padBefore;
  Phase result;
  result.firstTap = shifted % axis.stride;
  const int64_t room = axis.filter - 1 - result.firstTap;
  result.axis.input = axis.input;
  result.axis.filter = room < 0 ? 0 : room / axis.stride + 1;
  result.axis.padBefore = result.axis.filter - 1 - shifted / axis.stride;
  result.axis.output = (axis.output - 1 - static_cast<int64_t>(phase)) / axis.stride + 1;
  return result;
}

std::vector<size_t> reachedPhases(const TransposedAxis& axis) {
  std::vector<size_t> phases;
  for (int64_t tap = 0; tap < std::min(axis.filter, axis.stride); ++tap) {
    const int64_t phase = (tap + axis.stride - axis.padBefore % axis.stride) % axis.stride;
    if (phase < axis.output) phases.push_back(static_cast<size_t>(phase));
  }
  return phases;
}

Status readTransposedPlan(const OperationContext& context, TransposedPlan* plan) {
  const bool explicitPadding = hasExplicitPadding(context, kImplicitCount);
  size_t next = kOutputShape;
  if (!explicitPadding) {
    const Shape& shape = context.input(next++).dims;
    if (shape != Shape{4}) {
      return opFailed("output shape has dimensions {}, expected [4]", realShapeText(shape));
    }
  }
  WindowOptions options;
  HALYARD_RETURN_IF_ERROR(readPaddingAndStrides(context, explicitPadding, &next, &options));
  plan->activationInput = next++;
  HALYARD_RETURN_IF_ERROR(
      readLayoutAndDilations(context, next, /*dilated=*/false, &plan->nchw, &options));
  ImageDims filter;
  HALYARD_RETURN_IF_ERROR(
      readImageDims("input", context.input(kInput).dims, plan->nchw, &plan->input));
  HALYARD_RETURN_IF_ERROR(readImageDims("filter", context.input(kFilter).dims, false, &filter));
  if (filter.batch == 0) return opFailed("filter has no output channels");
  if (filter.channels != plan->input.channels) {
    return opFailed("filter has depth_in {}, input has {}", filter.channels, plan->input.channels);
  }
  plan->height = {static_cast<int64_t>(plan->input.height), static_cast<int64_t>(filter.height),
                  options.strideHeight};
  plan->width = {static_cast<int64_t>(plan->input.width), static_cast<int64_t>(filter.width),
                 options.strideWidth};
  AxisOptions height = {"height", "top", options.padTop, options.padBottom, {}};
  AxisOptions width = {"width", "left", options.padLeft, options.padRight, {}};
  // Any other scheme has no padding, so the size depends on the input alone.
  if (!explicitPadding && options.paddingScheme == kPaddingSame) {
    HALYARD_RETURN_IF_ERROR(readOutputShape(context, plan->nchw, &height, &width));
  }
  HALYARD_RETURN_IF_ERROR(resolveAxis(height, &plan->height));
  HALYARD_RETURN_IF_ERROR(resolveAxis(width, &plan->width));
  plan->output = {plan->input.batch, static_cast<size_t>(plan->height.output),
                  static_cast<size_t>(plan->width.output), filter.batch};
  return okStatus();
}

}  // namespace halyard::ops
