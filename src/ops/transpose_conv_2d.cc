// TRANSPOSE_CONV_2D: signature, shapes, and a kernel that computes it as ordinary convolutions, one
// for each phase of the stride.
#include "ops/layout.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"
#include "ops/patch_product.h"
#include "ops/work.h"

namespace halyard::ops {
namespace {

constexpr size_t kInput = 0;
constexpr size_t kFilter = 1;
constexpr size_t kBias = 2;
constexpr size_t kOutputShape = 3;  // implicit padding only
constexpr size_t kImplicitCount = 9;
constexpr uint32_t kFilterChannelDim = 0;
constexpr int32_t kPaddingSame = 1;

// One axis: input position h and tap u contribute to output position h * stride + u - padBefore.
struct TransposedAxis {
  int64_t input = 0;
  int64_t filter = 0;
  int64_t stride = 1;
  int64_t padBefore = 0;
  int64_t output = 0;

  size_t phases() const { return static_cast<size_t>(std::min(stride, output)); }
};

struct TransposedPlan {
  bool nchw = false;
  size_t activationInput = 0;
  ImageDims input;
  ImageDims output;
  TransposedAxis height;
  TransposedAxis width;
};

// The output positions phase, phase + stride, ... of an axis. All of them see the same taps of the
// filter, every stride-th, and neighbours see neighbouring input positions: an ordinary window of
// stride 1 that takes those taps in reverse order.
struct Phase {
  WindowAxis axis;
  int64_t firstTap = 0;

  // The filter's tap for tap k of the window.
  int64_t tap(int64_t k, int64_t stride) const { return firstTap + (axis.filter - 1 - k) * stride; }
};

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

// The phases that taps contribute to: at most as many as there are taps, however large the stride.
std::vector<size_t> reachedPhases(const TransposedAxis& axis) {
  std::vector<size_t> phases;
  for (int64_t tap = 0; tap < std::min(axis.filter, axis.stride); ++tap) {
    const int64_t phase = (tap + axis.stride - axis.padBefore % axis.stride) % axis.stride;
    if (phase < axis.output) phases.push_back(static_cast<size_t>(phase));
  }
  return phases;
}

Signature makeSignature() {
  Signature signature;
  signature.rows = multiplyAccumulateRows(true, FeatureLevel::FL3);
  signature.forms = windowFormsWithLayout(
      {typed("input", 0, rank(4)), typed("filter", 1, rank(4)), typed("bias", 2, rank(1))},
      {"activation"});
  std::vector<OperandSpec>& implicit = signature.forms.back().inputs;
  implicit.insert(implicit.begin() + kOutputShape,
                  fixed("output shape", OperandType::TENSOR_INT32, rank(1)));
  signature.outputs = {typed("output", 0, rank(4))};
  signature.check = [](const OperationView& operation, FeatureLevel& level) {
    return checkFilterQuantization(operation, kFilterChannelDim, level);
  };
  return signature;
}

struct AxisOptions {
  std::string_view name;     // "width"
  std::string_view padName;  // "left"
  int64_t padBefore = 0;
  int64_t padAfter = 0;
  std::optional<int64_t> requested;  // the output's size, with SAME padding
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

// The height and width that the output shape operand asks for.
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

Status makePlan(const OperationContext& context, TransposedPlan* plan) {
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
  // Any other scheme pads nothing, so that the size follows from the input alone.
  if (!explicitPadding && options.paddingScheme == kPaddingSame) {
    HALYARD_RETURN_IF_ERROR(readOutputShape(context, plan->nchw, &height, &width));
  }
  HALYARD_RETURN_IF_ERROR(resolveAxis(height, &plan->height));
  HALYARD_RETURN_IF_ERROR(resolveAxis(width, &plan->width));
  plan->output = {plan->input.batch, static_cast<size_t>(plan->height.output),
                  static_cast<size_t>(plan->width.output), filter.batch};
  return okStatus();
}

Status infer(OperationContext& context) {
  TransposedPlan plan;
  HALYARD_RETURN_IF_ERROR(makePlan(context, &plan));
  HALYARD_RETURN_IF_ERROR(checkFilterAndBias(context.input(kInput), context.input(kFilter),
                                             context.input(kBias), plan.output.channels));
  FuseCode activation = FuseCode::NONE;
  HALYARD_RETURN_IF_ERROR(
      unlessIncomplete(readFuseCode(context, plan.activationInput, &activation)));
  context.output(0).dims = imageShape(plan.output, plan.nchw);
  return okStatus();
}

// The product for output positions (vertical.., horizontal..). copyTap(channel, u, v, to) copies
// the values of one tap of the filter.
template <typename X, typename T, typename Output, typename CopyTap>
GemmProblem<T> phaseProblem(const TransposedPlan& plan, size_t vertical, size_t horizontal,
                            const Tensor& image, const CopyTap& copyTap, const Output& output,
                            typename Output::Value* results) {
  const Phase height = phaseOf(plan.height, vertical);
  const Phase width = phaseOf(plan.width, horizontal);
  const ImageDims positions = {plan.output.batch, static_cast<size_t>(height.axis.output),
                               static_cast<size_t>(width.axis.output), plan.output.channels};
  const size_t depth = plan.input.channels;
  auto problem =
      patchProblem<X, T>({plan.input, positions, {height.axis, width.axis}, 0, depth}, image);
  problem.columns = plan.output.channels;
  problem.right = [&plan, &copyTap, height, width, depth](size_t channel, T* buffer) {
    T* to = buffer;
    for (int64_t k = 0; k < height.axis.filter; ++k) {
      for (int64_t l = 0; l < width.axis.filter; ++l, to += depth) {
        copyTap(channel, height.tap(k, plan.height.stride), width.tap(l, plan.width.stride), to);
      }
    }
    return buffer;
  };
  problem.store = [&plan, &output, positions, vertical, horizontal,
                   results](const GemmTile<T>& tile) {
    for (size_t row = tile.rowBegin; row < tile.rowEnd; ++row) {
      const size_t line = row / positions.width;
      const size_t x = row % positions.width * static_cast<size_t>(plan.width.stride) + horizontal;
      const size_t y = line % positions.height * static_cast<size_t>(plan.height.stride) + vertical;
      const size_t at = (line / positions.height * plan.output.height + y) * plan.output.width + x;
      output.store(tile.sums + (row - tile.rowBegin) * tile.stride, tile.columnBegin,
                   tile.columnEnd - tile.columnBegin,
                   results + at * plan.output.channels + tile.columnBegin);
    }
  };
  return problem;
}

// What an output position holds that no tap contributes to, at all of them.
template <typename Output>
void fillWithBias(OperationContext& context, const TransposedPlan& plan, const Output& output,
                  typename Output::Value* results) {
  const size_t channels = plan.output.channels;
  const std::vector<typename Output::Sum> nothing(channels);
  std::vector<typename Output::Value> cell(channels);
  output.store(nothing.data(), 0, channels, cell.data());
  const size_t lines = plan.output.batch * plan.output.height;
  constexpr size_t kValuesPerRange = 1 << 16;
  context.services().parallelFor(
      lines, kValuesPerRange / (plan.output.width * channels) + 1, [&](size_t begin, size_t end) {
        typename Output::Value* to = results + begin * plan.output.width * channels;
        for (size_t i = begin * plan.output.width; i < end * plan.output.width; ++i) {
          to = std::copy_n(cell.data(), channels, to);
        }
      });
}

template <typename X, typename T, typename Output, typename CopyTap>
void convolve(OperationContext& context, const TransposedPlan& plan, const Tensor& image,
              const CopyTap& copyTap, const Output& output, typename Output::Value* results) {
  const std::vector<size_t> lines = reachedPhases(plan.height);
  const std::vector<size_t> columns = reachedPhases(plan.width);
  const size_t phases = lines.size() * columns.size();
  // A product for each phase that sees nothing would cost much more than its results do.
  if (phases < plan.height.phases() * plan.width.phases()) {
    fillWithBias(context, plan, output, results);
  }
  if (phases == 0) return;
  const size_t work = image.elementCount() * context.input(kFilter).elementCount() / phases;
  gemmEach<T>(context.services(), phases, work, [&](size_t phase) {
    return phaseProblem<X, T>(plan, lines[phase / columns.size()], columns[phase % columns.size()],
                              image, copyTap, output, results);
  });
}

// Where the values of one tap of the filter begin.
struct FilterTaps {
  size_t height;
  size_t width;
  size_t depth;

  size_t offset(size_t channel, int64_t u, int64_t v) const {
    return ((channel * height + static_cast<size_t>(u)) * width + static_cast<size_t>(v)) * depth;
  }
};

template <typename X>
void convolveQuantized(OperationContext& context, const TransposedPlan& plan, const Tensor& image,
                       const FilterTaps& taps, FuseCode activation, Tensor& result) {
  const Tensor& filter = context.input(kFilter);
  const QuantizedOutput<X> output(context, image, filter, context.input(kBias), result, activation);
  convolve<X, int16_t>(
      context, plan, image,
      [&](size_t channel, int64_t u, int64_t v, int16_t* to) {
        centerFilter(filter, taps.offset(channel, u, v), taps.depth, to);
      },
      output, result.as<X>());
}

Status reference(OperationContext& context) {
  TransposedPlan plan;
  FuseCode activation = FuseCode::NONE;
  HALYARD_RETURN_IF_ERROR(makePlan(context, &plan));
  HALYARD_RETURN_IF_ERROR(readFuseCode(context, plan.activationInput, &activation));
  const Tensor image = asNhwc(context, context.input(kInput), plan.nchw);
  const Tensor& filter = context.input(kFilter);
  const FilterTaps taps = {filter.dims[1], filter.dims[2], filter.dims[3]};
  NhwcOutput result(context, 0, plan.nchw);
  switch (image.type) {
    case OperandType::TENSOR_FLOAT32: {
      const FloatOutput output(context.input(kBias), activation);
      convolve<float, float>(
          context, plan, image,
          [&](size_t channel, int64_t u, int64_t v, float* to) {
            std::memcpy(to, filter.as<float>() + taps.offset(channel, u, v),
                        taps.depth * sizeof(float));
          },
          output, result.tensor().as<float>());
      break;
    }
    case OperandType::TENSOR_QUANT8_ASYMM:
      convolveQuantized<uint8_t>(context, plan, image, taps, activation, result.tensor());
      break;
    case OperandType::TENSOR_QUANT8_ASYMM_SIGNED:
      convolveQuantized<int8_t>(context, plan, image, taps, activation, result.tensor());
      break;
    default:
      return opFailed("input is {}, for which there is no kernel", operandTypeName(image.type));
  }
  result.finish();
  return okStatus();
}

double work(std::span<const Tensor> inputs, std::span<const Tensor> /*outputs*/) {
  // Each value of the input goes into all outputs that its filters reach.
  return workElements(inputs[kInput]) * workElements(inputs[kFilter]) /
         workDimension(inputs[kFilter], 3);
}

}  // namespace

const OperationDefinition& transposeConv2d() {
  static const OperationDefinition definition = {.type = OperationType::TRANSPOSE_CONV_2D,
                                                 .signature = makeSignature(),
                                                 .infer = infer,
                                                 .reference = reference,
                                                 .acceptsZeroSized = true,
                                                 .work = work};
  return definition;
}

}  // namespace halyard::ops
