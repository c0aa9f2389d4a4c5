// Convolutions of all kinds, full connections and pools.
#include "kernels/channels.h"
#include "kernels/image_steps.h"
#include "kernels/kernel_list.h"
#include "kernels/product.h"
#include "kernels/window_plan.h"
#include "kernels/winograd.h"
#include "ops/activation.h"
#include "ops/conv_geometry.h"
#include "ops/data_movement.h"
#include "ops/multiply_accumulate.h"
#include "ops/requantize.h"
#include "ops/transposed_geometry.h"

namespace halyard::vulkandriver {
namespace {

constexpr int32_t kNoBias = 8;  // in OPTION, beside the activation

// The rounds of the loops over a window, with some for each of its cells.
uint64_t roundsOf(const WindowPlan& plan, uint64_t roundsOfCell) {
  const auto rows = static_cast<uint64_t>(plan.window.height.filter);
  const auto columns = static_cast<uint64_t>(plan.window.width.filter);
  return rows * (2 + columns * roundsOfCell);
}

// The kernels of tiles compute four products in each round.
Status checkProducts(const WindowPlan& plan) {
  return checkRounds(roundsOf(plan, plan.inputsOfGroup / 4 + 2));
}

Status addWindow(const Site& site, const WindowPlan& plan, Recording& recording) {
  HALYARD_ASSIGN_OR_RETURN(const ElementKind kind, elementKind(site.input(0).type));
  const bool isSum = plan.function == WindowFunction::SUM;
  ElementKind filterKind = kind;
  if (isSum) {
    HALYARD_ASSIGN_OR_RETURN(filterKind, elementKind(site.input(1).type));
  }
  const ImageSteps in = plan.inputSteps.value_or(stepsOf(plan.input, plan.nchw));
  const ImageSteps out = stepsOf(plan.output, plan.nchw);
  std::vector<Parameter> parameters = {site.in(0), isSum ? site.in(1) : site.in(0),
                                       isSum && plan.hasBias ? site.in(2) : site.in(0),
                                       site.out(0)};
  const auto append = [&parameters](std::initializer_list<int64_t> values) {
    for (const int64_t value : values) parameters.emplace_back(static_cast<int32_t>(value));
  };
  const auto& [height, width] = plan.window;
  append({height.output, width.output, static_cast<int64_t>(plan.output.channels)});
  append({in.batch, in.height, in.width, in.channel});
  append({out.batch, out.height, out.width, out.channel});
  append({height.input, width.input, height.filter, width.filter});
  append({height.stride, width.stride, height.dilation, width.dilation});
  append({height.padBefore, width.padBefore});
  append({static_cast<int64_t>(plan.resultsOfGroup), static_cast<int64_t>(plan.inputsOfGroup)});
  append({plan.filter.result, plan.filter.height, plan.filter.width, plan.filter.channel});
  if (isReal(kind) || kind == ElementKind::INT32) {
    append({0, 0, 0, 0, 0, 0});
  } else {
    const auto range = ops::activationRange(plan.activation, site.output(0));
    append({site.input(0).zeroPoint, isSum ? ops::filterZeroPoint(site.input(1)) : 0,
            site.output(0).zeroPoint, range.min, range.max});
    Parameter multipliers = 0;
    if (isSum) {
      HALYARD_ASSIGN_OR_RETURN(multipliers, addMultipliers(site, plan.output.channels, recording));
    }
    parameters.push_back(multipliers);
  }
  append({plan.filter.batch});
  HALYARD_RETURN_IF_ERROR(checkRounds(roundsOf(plan, isSum ? plan.inputsOfGroup + 2 : 1)));
  recording.add({Shader::WINDOW,
                 {static_cast<int32_t>(plan.function), static_cast<int32_t>(kind),
                  static_cast<int32_t>(filterKind),
                  static_cast<int32_t>(plan.activation) | (plan.hasBias ? 0 : kNoBias)},
                 std::move(parameters),
                 static_cast<uint32_t>(site.output(0).elementCount())});
  return okStatus();
}

// Reads the scalars behind the tensors of an operation with a window; `scalars` are its own.
Status readWindow(const Site& site, size_t first, size_t implicitCount, std::span<int32_t> scalars,
                  bool dilated, ops::WindowOptions* options, WindowPlan* plan) {
  size_t next = first;
  HALYARD_RETURN_IF_ERROR(ops::readPaddingAndStrides(
      site.context, ops::hasExplicitPadding(site.context, implicitCount), &next, options));
  for (int32_t& scalar : scalars) HALYARD_RETURN_IF_ERROR(site.context.read(next++, &scalar));
  HALYARD_RETURN_IF_ERROR(ops::readFuseCode(site.context, next++, &plan->activation));
  HALYARD_RETURN_IF_ERROR(
      ops::readLayoutAndDilations(site.context, next, dilated, &plan->nchw, options));
  return ops::readImageDims("input", site.input(0).dims, plan->nchw, &plan->input);
}

Status resolve(const ops::WindowOptions& options, int64_t height, int64_t width, size_t channels,
               WindowPlan* plan) {
  HALYARD_RETURN_IF_ERROR(ops::resolveWindow(options, plan->input, height, width, &plan->window));
  plan->output = {plan->input.batch, static_cast<size_t>(plan->window.height.output),
                  static_cast<size_t>(plan->window.width.output), channels};
  return okStatus();
}

}  // namespace

Status recordConv(const Site& site, Recording& recording) {
  const bool isGrouped = site.type == OperationType::GROUPED_CONV_2D;
  const Shape& filter = site.input(1).dims;  // [channels, height, width, channels of a group]
  WindowPlan plan;
  ops::WindowOptions options;
  int32_t groups = 1;
  HALYARD_RETURN_IF_ERROR(readWindow(site, 3, isGrouped ? 9 : 7,
                                     {&groups, isGrouped ? size_t{1} : size_t{0}}, !isGrouped,
                                     &options, &plan));
  HALYARD_RETURN_IF_ERROR(resolve(options, filter[1], filter[2], filter[0], &plan));
  plan.inputsOfGroup = filter[3];
  plan.resultsOfGroup = filter[0] / static_cast<uint32_t>(groups);
  const auto depth = static_cast<int32_t>(filter[3]);
  const auto width = static_cast<int32_t>(filter[2]);
  plan.filter = {static_cast<int32_t>(filter[1]) * width * depth, width * depth, depth, 1};
  HALYARD_RETURN_IF_ERROR(checkProducts(plan));
  HALYARD_ASSIGN_OR_RETURN(const bool isMatrices, takesMatrices(site, plan, recording));
  if (!isMatrices) {
    HALYARD_ASSIGN_OR_RETURN(const bool isWinograd, addWinograd(site, plan, recording));
    if (isWinograd) return okStatus();
  }
  HALYARD_ASSIGN_OR_RETURN(const bool isProduct, addProduct(site, plan, recording));
  if (isProduct) return okStatus();
  return addWindow(site, plan, recording);
}

Status recordDepthwise(const Site& site, Recording& recording) {
  const Shape& filter = site.input(1).dims;  // [1, height, width, channels]
  WindowPlan plan;
  ops::WindowOptions options;
  int32_t multiplier = 1;
  HALYARD_RETURN_IF_ERROR(readWindow(site, 3, 8, {&multiplier, 1}, true, &options, &plan));
  HALYARD_RETURN_IF_ERROR(resolve(options, filter[1], filter[2], filter[3], &plan));
  HALYARD_RETURN_IF_ERROR(checkRounds(roundsOf(plan, 3)));  // window.comp has inner loops
  plan.resultsOfGroup = static_cast<size_t>(multiplier);
  const auto channels = static_cast<int32_t>(filter[3]);
  plan.filter = {1, static_cast<int32_t>(filter[2]) * channels, channels, 0};
  HALYARD_ASSIGN_OR_RETURN(const bool isTaken, addChannels(site, plan, recording));
  if (isTaken) return okStatus();
  return addWindow(site, plan, recording);
}

Status recordFullyConnected(const Site& site, Recording& recording) {
  const Shape& weights = site.input(1).dims;  // [channels, depth]
  WindowPlan plan;
  HALYARD_RETURN_IF_ERROR(ops::readFuseCode(site.context, 3, &plan.activation));
  plan.input = {site.output(0).dims[0], 1, 1, weights[1]};
  HALYARD_RETURN_IF_ERROR(resolve({}, 1, 1, weights[0], &plan));
  plan.inputsOfGroup = weights[1];
  plan.resultsOfGroup = weights[0];
  plan.filter = {static_cast<int32_t>(weights[1]), 0, 0, 1};
  HALYARD_RETURN_IF_ERROR(checkProducts(plan));
  HALYARD_ASSIGN_OR_RETURN(const bool isProduct, addProduct(site, plan, recording));
  if (isProduct) return okStatus();
  return addWindow(site, plan, recording);
}

Status recordTransposedConv(const Site& site, Recording& recording) {
  ops::TransposedPlan read;
  HALYARD_RETURN_IF_ERROR(ops::readTransposedPlan(site.context, &read));
  const auto windowOf = [](const ops::TransposedAxis& axis) {
    return ops::WindowAxis{axis.input, axis.filter, axis.stride, 1, axis.padBefore, axis.output};
  };
  const Shape& filter = site.input(1).dims;  // [channels, height, width, channels of the input]
  WindowPlan plan;
  plan.function = WindowFunction::TRANSPOSED;
  plan.window = {windowOf(read.height), windowOf(read.width)};
  plan.input = read.input;
  plan.output = read.output;
  plan.nchw = read.nchw;
  plan.resultsOfGroup = filter[0];
  plan.inputsOfGroup = filter[3];
  const auto depth = static_cast<int32_t>(filter[3]);
  const auto width = static_cast<int32_t>(filter[2]);
  plan.filter = {static_cast<int32_t>(filter[1]) * width * depth, width * depth, depth, 1};
  HALYARD_RETURN_IF_ERROR(ops::readFuseCode(site.context, read.activationInput, &plan.activation));
  HALYARD_RETURN_IF_ERROR(checkProducts(plan));
  HALYARD_ASSIGN_OR_RETURN(const bool isProduct, addProduct(site, plan, recording));
  if (isProduct) return okStatus();
  return badData("a result of {} x {} positions with strides of {} x {} is too large",
                 plan.output.height, plan.output.width, read.height.stride, read.width.stride);
}

// The rows of the left side are the positions of an image, the right side is its filter.
Status recordMatmul(const Site& site, Recording& recording) {
  bool adjointLeft = false;
  bool adjointRight = false;
  HALYARD_RETURN_IF_ERROR(site.context.read(2, &adjointLeft));
  HALYARD_RETURN_IF_ERROR(site.context.read(3, &adjointRight));
  const Shape& left = site.input(0).dims;
  const Shape& result = site.output(0).dims;
  const uint32_t rows = result[result.size() - 2];
  const uint32_t columns = result[result.size() - 1];
  const uint32_t depth = left[left.size() - (adjointLeft ? 2 : 1)];
  const auto batch = static_cast<uint32_t>(site.output(0).elementCount() / rows / columns);
  HALYARD_RETURN_IF_ERROR(checkRounds(depth / 4));
  WindowPlan plan;
  plan.hasBias = false;
  plan.input = {batch, rows, 1, depth};
  HALYARD_RETURN_IF_ERROR(resolve({}, 1, 1, columns, &plan));
  plan.inputsOfGroup = depth;
  plan.resultsOfGroup = columns;
  const auto steps = [](uint32_t step) { return static_cast<int32_t>(step); };
  plan.inputSteps = {steps(rows * depth), steps(adjointLeft ? 1 : depth), 0,
                     steps(adjointLeft ? rows : 1)};
  plan.filter = {steps(adjointRight ? depth : 1), 0, 0, steps(adjointRight ? 1 : columns),
                 steps(columns * depth)};
  HALYARD_ASSIGN_OR_RETURN(const bool isTaken, addProduct(site, plan, recording));
  if (isTaken) return okStatus();
  return addWindow(site, plan, recording);
}

Status recordPool(const Site& site, Recording& recording) {
  WindowPlan plan;
  ops::WindowOptions options;
  int32_t size[2] = {};  // width, height
  HALYARD_RETURN_IF_ERROR(readWindow(site, 1, 7, size, false, &options, &plan));
  HALYARD_RETURN_IF_ERROR(resolve(options, size[1], size[0], plan.input.channels, &plan));
  // The bytes of so few cells also fit 32 bits.
  HALYARD_RETURN_IF_ERROR(checkRounds(roundsOf(plan, 1)));
  plan.function = site.type == OperationType::MAX_POOL_2D  ? WindowFunction::MAXIMUM
                  : site.type == OperationType::L2_POOL_2D ? WindowFunction::NORM
                                                           : WindowFunction::AVERAGE;
  HALYARD_ASSIGN_OR_RETURN(const bool isTaken, addChannels(site, plan, recording));
  if (isTaken) return okStatus();
  return addWindow(site, plan, recording);
}

}  // namespace halyard::vulkandriver
