// CONV_3D and CONV_3D_TRANSPOSE of the extension halyard.tflite: convolutions of volumes.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "ops/activation.h"
#include "ops/conv_geometry.h"
#include "ops/data_movement.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"
#include "ops/type_rows.h"
#include "ops/work.h"

namespace halyard::ops {
namespace {

enum Input : size_t {
  kInput,
  kFilter,
  kBias,
  kPaddings,
  kStrides,
  kDilations,
  kActivation,
  kOutputSize,
};

// The dimensions of a volume are [batch, depth, height, width, channels].
constexpr size_t kRank = 5;
constexpr size_t kAxes = 3;

// axes: of the convolution. The transposed one goes from its output back to its input, so that
// `input` is the size of the larger volume in both.
struct Plan {
  std::array<WindowAxis, kAxes> axes;
  size_t batch = 0;
  size_t inputChannels = 0;
  size_t outputChannels = 0;
};

Status checkShapes(const OperationContext& context, bool isTransposed) {
  HALYARD_RETURN_IF_ERROR(checkRank(context.input(kInput), kRank, kRank, "input"));
  HALYARD_RETURN_IF_ERROR(checkRank(context.input(kFilter), kRank, kRank, "filter"));
  const Shape& filter = context.input(kFilter).dims;
  const uint32_t inputs = filter[isTransposed ? 4 : 3];
  const uint32_t outputs = filter[isTransposed ? 3 : 4];
  if (std::ranges::find(filter, 0u) != filter.end()) {
    return opFailed("filter is {}, expected no dimension of 0", realShapeText(filter));
  }
  if (inputs != context.input(kInput).dims[4]) {
    return opFailed("filter has {} input channels, input has {}", inputs,
                    context.input(kInput).dims[4]);
  }
  if (context.input(kBias).dims != Shape{outputs}) {
    return opFailed("bias is {}, expected [{}]", realShapeText(context.input(kBias).dims), outputs);
  }
  return okStatus();
}

// Finds the size of the smaller volume, and checks that the window fits the larger one.
Status placeWindow(size_t d, std::span<const int32_t> paddings, WindowAxis* axis) {
  if (axis->stride < 1 || axis->dilation < 1) {
    return opFailed("stride {} and dilation {} of axis {}, expected at least 1", axis->stride,
                    axis->dilation, d);
  }
  if (paddings[2 * d] < 0 || paddings[2 * d + 1] < 0) {
    return opFailed("paddings {} and {} of axis {}, expected none below 0", paddings[2 * d],
                    paddings[2 * d + 1], d);
  }
  axis->padBefore = paddings[2 * d];
  const int64_t extent = (axis->filter - 1) * axis->dilation + 1;
  const int64_t padded = axis->input + paddings[2 * d] + paddings[2 * d + 1];
  if (extent > padded) {
    return opFailed("the filter covers {} elements of axis {}, which has {} with its paddings",
                    extent, d, padded);
  }
  axis->output = (padded - extent) / axis->stride + 1;
  return okStatus();
}

template <bool kIsTransposed>
Status makePlan(const OperationContext& context, Plan* plan) {
  HALYARD_RETURN_IF_ERROR(checkShapes(context, kIsTransposed));
  const Shape& input = context.input(kInput).dims;
  const Shape& filter = context.input(kFilter).dims;
  std::span<const int32_t> paddings, strides, dilations, sizes;
  HALYARD_RETURN_IF_ERROR(readIntsOfShape(context, kPaddings, {3, 2}, "paddings", &paddings));
  HALYARD_RETURN_IF_ERROR(readIntsOfShape(context, kStrides, {3}, "strides", &strides));
  HALYARD_RETURN_IF_ERROR(readIntsOfShape(context, kDilations, {3}, "dilations", &dilations));
  if constexpr (kIsTransposed) {
    HALYARD_RETURN_IF_ERROR(readIntsOfShape(context, kOutputSize, {3}, "output size", &sizes));
  }
  for (size_t d = 0; d < kAxes; ++d) {
    WindowAxis& axis = plan->axes[d];
    axis.input = kIsTransposed ? sizes[d] : int64_t{input[d + 1]};
    axis.filter = filter[d];
    axis.stride = strides[d];
    axis.dilation = dilations[d];
    if (kIsTransposed && axis.input < 1) {
      return opFailed("output size has {} for axis {}, expected at least 1", axis.input, d);
    }
    HALYARD_RETURN_IF_ERROR(placeWindow(d, paddings, &axis));
    if (kIsTransposed && axis.output != input[d + 1]) {
      return opFailed("the convolution of {} elements of axis {} gives {}, input has {}",
                      axis.input, d, axis.output, input[d + 1]);
    }
  }
  plan->batch = input[0];
  plan->inputChannels = input[4];
  plan->outputChannels = filter[kIsTransposed ? 3 : 4];
  return okStatus();
}

template <bool kIsTransposed>
Status infer(OperationContext& context) {
  Plan plan;
  HALYARD_RETURN_IF_ERROR(makePlan<kIsTransposed>(context, &plan));
  FuseCode activation = FuseCode::NONE;
  HALYARD_RETURN_IF_ERROR(unlessIncomplete(readFuseCode(context, kActivation, &activation)));
  Shape dims = {static_cast<uint32_t>(plan.batch)};
  for (const WindowAxis& axis : plan.axes) {
    dims.push_back(static_cast<uint32_t>(kIsTransposed ? axis.input : axis.output));
  }
  dims.push_back(static_cast<uint32_t>(plan.outputChannels));
  context.output(0).dims = std::move(dims);
  return okStatus();
}

// Returns the position of the input that meets output position `at` under tap `tap`; -1 for no
// position.
template <bool kIsTransposed>
int64_t positionUnder(const WindowAxis& axis, int64_t at, int64_t tap) {
  if constexpr (!kIsTransposed) {
    const int64_t position = axis.origin(at) + tap * axis.dilation;
    return position < axis.input ? position : -1;
  }
  const int64_t distance = at + axis.padBefore - tap * axis.dilation;
  if (distance < 0 || distance % axis.stride != 0) return -1;
  const int64_t position = distance / axis.stride;
  return position < axis.output ? position : -1;
}

// Adds the products of one input cell and one tap of the filter to the sums. A tap is a matrix,
// [input channels, output channels], or its transpose.
template <bool kIsTransposed>
void addProducts(const Plan& plan, const float* cell, const float* tap, float* sums) {
  if constexpr (kIsTransposed) {
    for (size_t o = 0; o < plan.outputChannels; ++o, tap += plan.inputChannels) {
      float sum = 0;
      for (size_t i = 0; i < plan.inputChannels; ++i) sum += cell[i] * tap[i];
      sums[o] += sum;
    }
  } else {
    for (size_t i = 0; i < plan.inputChannels; ++i, tap += plan.outputChannels) {
      const float x = cell[i];
      for (size_t o = 0; o < plan.outputChannels; ++o) sums[o] += x * tap[o];
    }
  }
}

template <bool kIsTransposed>
void computeCell(const Plan& plan, const float* volume, const float* filter,
                 const std::array<int64_t, kAxes>& at, float* sums) {
  const auto& axes = plan.axes;
  const auto sizeOf = [](const WindowAxis& axis) {
    return kIsTransposed ? axis.output : axis.input;
  };
  const size_t tapSize = plan.inputChannels * plan.outputChannels;
  for (int64_t d = 0; d < axes[0].filter; ++d) {
    const int64_t z = positionUnder<kIsTransposed>(axes[0], at[0], d);
    if (z < 0) continue;
    for (int64_t h = 0; h < axes[1].filter; ++h) {
      const int64_t y = positionUnder<kIsTransposed>(axes[1], at[1], h);
      if (y < 0) continue;
      for (int64_t w = 0; w < axes[2].filter; ++w) {
        const int64_t x = positionUnder<kIsTransposed>(axes[2], at[2], w);
        if (x < 0) continue;
        const auto cell = static_cast<size_t>((z * sizeOf(axes[1]) + y) * sizeOf(axes[2]) + x);
        const auto tap = static_cast<size_t>((d * axes[1].filter + h) * axes[2].filter + w);
        addProducts<kIsTransposed>(plan, volume + cell * plan.inputChannels, filter + tap * tapSize,
                                   sums);
      }
    }
  }
}

template <bool kIsTransposed>
Status compute(OperationContext& context) {
  Plan plan;
  FuseCode activation = FuseCode::NONE;
  HALYARD_RETURN_IF_ERROR(makePlan<kIsTransposed>(context, &plan));
  HALYARD_RETURN_IF_ERROR(readFuseCode(context, kActivation, &activation));
  const ClampRange<float> range = activationRange(activation);
  const Shape& dims = context.output(0).dims;
  const float* const input = context.input(kInput).as<float>();
  const float* const filter = context.input(kFilter).as<float>();
  const float* const bias = context.input(kBias).as<float>();
  float* const output = context.output(0).as<float>();
  const size_t channels = plan.outputChannels;
  const size_t inputSize = context.input(kInput).elementCount() / plan.batch;
  const size_t cells = context.output(0).elementCount() / channels;
  // A thread is worth some ten thousand products.
  const size_t grain = std::max<size_t>(1, 16384 / context.input(kFilter).elementCount());
  context.services().parallelFor(cells, grain, [&](size_t begin, size_t end) {
    for (size_t cell = begin; cell < end; ++cell) {
      std::array<int64_t, kAxes> at;
      size_t rest = cell;
      for (size_t d = kAxes; d-- > 0; rest /= dims[d + 1]) {
        at[d] = static_cast<int64_t>(rest % dims[d + 1]);
      }
      float* const sums = output + cell * channels;
      std::copy_n(bias, channels, sums);
      computeCell<kIsTransposed>(plan, input + rest * inputSize, filter, at, sums);
      for (size_t o = 0; o < channels; ++o) sums[o] = clampTo(sums[o], range);
    }
  });
  return okStatus();
}

// Each tap of the filter meets each cell of the volume that the window moves over.
template <bool kIsTransposed>
double work(std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
  const Tensor& moved = kIsTransposed ? inputs[kInput] : outputs[0];
  return workElements(moved) / workDimension(moved, 4) * workElements(inputs[kFilter]);
}

template <bool kIsTransposed>
OperationDefinition define(OperationType type) {
  OperationDefinition definition;
  definition.type = type;
  definition.signature.rows = singleTypeRows({{OperandType::TENSOR_FLOAT32, FeatureLevel::FL3},
                                              {OperandType::TENSOR_FLOAT16, FeatureLevel::FL3}});
  std::vector<OperandSpec> inputs = {typed("input", 0),    typed("filter", 0),
                                     typed("bias", 0),     int32List("paddings", rank(2)),
                                     int32List("strides"), int32List("dilations"),
                                     int32("activation")};
  if (kIsTransposed) inputs.push_back(int32List("output size"));
  definition.signature.forms = {{"", std::move(inputs), {}}};
  definition.signature.outputs = {typed("output", 0)};
  definition.infer = infer<kIsTransposed>;
  definition.reference = compute<kIsTransposed>;
  definition.work = work<kIsTransposed>;
  return definition;
}

}  // namespace

const OperationDefinition& conv3d() {
  return madeOnce([] { return define<false>(OperationType::CONV_3D); });
}

const OperationDefinition& conv3dTranspose() {
  return madeOnce([] { return define<true>(OperationType::CONV_3D_TRANSPOSE); });
}

}  // namespace halyard::ops
