// CONV_2D and GROUPED_CONV_2D: signatures, shapes, and a kernel. The kernel gathers patches of the
// image into matrix products, one for each group of channels.
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
constexpr size_t kFirstScalar = 3;
constexpr uint32_t kFilterChannelDim = 0;

struct ConvPlan {
  bool nchw = false;
  size_t activationInput = 0;
  size_t groups = 1;
  ImageDims input;
  ImageDims output;
  Window window;
};

std::vector<OperandSpec> tensorSpecs() {
  return {typed("input", 0, rank(4)), typed("filter", 1, rank(4)),
          typed("bias", 2, rank(1)).withRankOfComputation()};
}

Status checkQuantization(const OperationView& operation, FeatureLevel& level) {
  return checkFilterQuantization(operation, kFilterChannelDim, level);
}

Signature makeSignature() {
  Signature signature;
  signature.rows = multiplyAccumulateRows(true);
  signature.forms = windowForms(tensorSpecs(), {"activation"}, /*dilated=*/true);
  signature.outputs = {typed("output", 0, rank(4))};
  signature.check = checkQuantization;
  return signature;
}

Signature makeGroupedSignature() {
  Signature signature;
  signature.rows = multiplyAccumulateRows(true, FeatureLevel::FL3);
  signature.forms = windowFormsWithLayout(tensorSpecs(), {"groups", "activation"});
  signature.outputs = {typed("output", 0, rank(4))};
  signature.check = checkQuantization;
  return signature;
}

// Reads the scalars up to the window's options; `groups` is null for CONV_2D.
Status readScalars(const OperationContext& context, ConvPlan* plan, WindowOptions* options,
                   int32_t* groups) {
  const size_t implicitCount = groups == nullptr ? 7 : 9;
  size_t next = kFirstScalar;
  HALYARD_RETURN_IF_ERROR(
      readPaddingAndStrides(context, hasExplicitPadding(context, implicitCount), &next, options));
  if (groups != nullptr) HALYARD_RETURN_IF_ERROR(context.read(next++, groups), "groups");
  plan->activationInput = next++;
  return readLayoutAndDilations(context, next, /*dilated=*/groups == nullptr, &plan->nchw, options);
}

Status checkChannels(const ConvPlan& plan, const ImageDims& filter, int32_t groups) {
  if (filter.batch == 0) return opFailed("filter has no output channels");
  if (groups <= 0) return opFailed("groups is {}, expected more than 0", groups);
  const auto count = static_cast<uint64_t>(groups);
  if (filter.channels * count != plan.input.channels) {
    if (groups == 1) {
      return opFailed("filter has depth_in {}, input has {}", filter.channels, plan.input.channels);
    }
    return opFailed("filter has depth_in {} for each of {} groups, input has {}", filter.channels,
                    groups, plan.input.channels);
  }
  if (filter.batch % count != 0) {
    return opFailed("filter has {} output channels, expected a multiple of the {} groups",
                    filter.batch, groups);
  }
  return okStatus();
}

template <bool grouped>
Status makePlan(const OperationContext& context, ConvPlan* plan) {
  WindowOptions options;
  int32_t groups = 1;
  HALYARD_RETURN_IF_ERROR(readScalars(context, plan, &options, grouped ? &groups : nullptr));
  ImageDims filter;
  HALYARD_RETURN_IF_ERROR(
      readImageDims("input", context.input(kInput).dims, plan->nchw, &plan->input));
  HALYARD_RETURN_IF_ERROR(readImageDims("filter", context.input(kFilter).dims, false, &filter));
  HALYARD_RETURN_IF_ERROR(checkChannels(*plan, filter, groups));
  plan->groups = static_cast<size_t>(groups);
  HALYARD_RETURN_IF_ERROR(resolveWindow(options, plan->input, static_cast<int64_t>(filter.height),
                                        static_cast<int64_t>(filter.width), &plan->window));
  plan->output = {plan->input.batch, static_cast<size_t>(plan->window.height.output),
                  static_cast<size_t>(plan->window.width.output), filter.batch};
  return okStatus();
}

template <bool grouped>
Status infer(OperationContext& context) {
  ConvPlan plan;
  HALYARD_RETURN_IF_ERROR(makePlan<grouped>(context, &plan));
  HALYARD_RETURN_IF_ERROR(checkFilterAndBias(context.input(kInput), context.input(kFilter),
                                             context.input(kBias), plan.output.channels));
  FuseCode activation = FuseCode::NONE;
  HALYARD_RETURN_IF_ERROR(
      unlessIncomplete(readFuseCode(context, plan.activationInput, &activation)));
  context.output(0).dims = imageShape(plan.output, plan.nchw);
  return okStatus();
}

// X is the type of the image, T the type of the factors. filterColumn returns the values of one
// output channel.
template <typename X, typename T, typename Output>
void convolve(OperationContext& context, const ConvPlan& plan, const Tensor& image,
              const std::function<const T*(size_t, T*)>& filterColumn, const Output& output,
              typename Output::Value* results) {
  const size_t channels = plan.output.channels;
  const size_t groupInputs = plan.input.channels / plan.groups;
  const size_t groupOutputs = channels / plan.groups;
  const auto problemOf = [&](size_t group) {
    const size_t first = group * groupOutputs;
    auto problem = patchProblem<X, T>(
        {plan.input, plan.output, plan.window, group * groupInputs, groupInputs}, image);
    problem.columns = groupOutputs;
    problem.right = [&filterColumn, first](size_t column, T* buffer) {
      return filterColumn(first + column, buffer);
    };
    problem.store = [&output, results, channels, first](const GemmTile<T>& tile) {
      const size_t channel = first + tile.columnBegin;
      for (size_t row = tile.rowBegin; row < tile.rowEnd; ++row) {
        output.store(tile.sums + (row - tile.rowBegin) * tile.stride, channel,
                     tile.columnEnd - tile.columnBegin, results + row * channels + channel);
      }
    };
    return problem;
  };
  const size_t positions = plan.output.batch * plan.output.height * plan.output.width;
  const size_t depth = context.input(kFilter).elementCount() / channels;
  gemmEach<T>(context.services(), plan.groups, positions * groupOutputs * depth, problemOf);
}

template <typename X>
void convolveQuantized(OperationContext& context, const ConvPlan& plan, const Tensor& image,
                       FuseCode activation, Tensor& result) {
  const Tensor& filter = context.input(kFilter);
  const size_t depth = filter.elementCount() / plan.output.channels;
  const QuantizedOutput<X> output(context, image, filter, context.input(kBias), result, activation);
  convolve<X, int16_t>(
      context, plan, image,
      [&](size_t channel, int16_t* buffer) {
        centerFilter(filter, channel * depth, depth, buffer);
        return buffer;
      },
      output, result.as<X>());
}

template <bool grouped>
Status reference(OperationContext& context) {
  ConvPlan plan;
  FuseCode activation = FuseCode::NONE;
  HALYARD_RETURN_IF_ERROR(makePlan<grouped>(context, &plan));
  HALYARD_RETURN_IF_ERROR(readFuseCode(context, plan.activationInput, &activation));
  const Tensor image = asNhwc(context, context.input(kInput), plan.nchw);
  const Tensor& filter = context.input(kFilter);
  NhwcOutput result(context, 0, plan.nchw);
  switch (image.type) {
    case OperandType::TENSOR_FLOAT32: {
      const FloatOutput output(context.input(kBias), activation);
      const size_t depth = filter.elementCount() / plan.output.channels;
      convolve<float, float>(
          context, plan, image,
          [&](size_t channel, float*) { return filter.as<float>() + channel * depth; }, output,
          result.tensor().as<float>());
      break;
    }
    case OperandType::TENSOR_QUANT8_ASYMM:
      convolveQuantized<uint8_t>(context, plan, image, activation, result.tensor());
      break;
    case OperandType::TENSOR_QUANT8_ASYMM_SIGNED:
      convolveQuantized<int8_t>(context, plan, image, activation, result.tensor());
      break;
    default:
      return opFailed("input is {}, for which there is no kernel", operandTypeName(image.type));
  }
  result.finish();
  return okStatus();
}

double work(std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
  // Each value of the output takes one filter, for any layout and number of groups.
  return workElements(outputs[0]) * workElements(inputs[kFilter]) /
         workDimension(inputs[kFilter], kFilterChannelDim);
}

}  // namespace

const OperationDefinition& conv2d() {
  return madeOnce([] {
    return OperationDefinition{.type = OperationType::CONV_2D,
                               .signature = makeSignature(),
                               .infer = infer<false>,
                               .reference = reference<false>,
                               .acceptsZeroSized = true,
                               .work = work};
  });
}

const OperationDefinition& groupedConv2d() {
  return madeOnce([] {
    return OperationDefinition{.type = OperationType::GROUPED_CONV_2D,
                               .signature = makeGroupedSignature(),
                               .infer = infer<true>,
                               .reference = reference<true>,
                               .work = work};
  });
}

}  // namespace halyard::ops
