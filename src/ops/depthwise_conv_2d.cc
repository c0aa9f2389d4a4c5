// DEPTHWISE_CONV_2D: signature, shapes, and a kernel that runs along the channels.
#include <algorithm>
#include <memory>

#include "base/work_limit.h"
#include "ops/conv_geometry.h"
#include "ops/layout.h"
#include "ops/multiply_accumulate.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"
#include "ops/work.h"

namespace halyard::ops {
namespace {

constexpr size_t kInput = 0;
constexpr size_t kFilter = 1;
constexpr size_t kBias = 2;
constexpr size_t kFirstScalar = 3;
constexpr size_t kImplicitCount = 8;
constexpr uint32_t kFilterChannelDim = 3;

struct DepthwisePlan {
  bool nchw = false;
  size_t activationInput = 0;
  size_t multiplier = 1;  // output channels for each input channel
  ImageDims input;
  ImageDims output;
  Window window;
};

Signature makeSignature() {
  Signature signature;
  signature.rows = multiplyAccumulateRows(true);
  signature.forms = windowForms({typed("input", 0, rank(4)), typed("filter", 1, rank(4)),
                                 typed("bias", 2, rank(1)).withRankOfComputation()},
                                {"depth multiplier", "activation"}, /*dilated=*/true);
  signature.outputs = {typed("output", 0, rank(4))};
  signature.check = [](const OperationView& operation, FeatureLevel& level) {
    return checkFilterQuantization(operation, kFilterChannelDim, level);
  };
  return signature;
}

Status checkFilterShape(const OperationContext& context, int32_t multiplier,
                        const DepthwisePlan& plan, const ImageDims& filter) {
  if (filter.batch != 1) {
    return opFailed("filter {} has a first dimension of {}, expected 1",
                    realShapeText(context.input(kFilter).dims), filter.batch);
  }
  if (multiplier <= 0) {
    return opFailed("depth multiplier is {}, expected more than 0", multiplier);
  }
  if (filter.channels != plan.input.channels * static_cast<uint64_t>(multiplier)) {
    return opFailed("filter has {} channels, expected {} of the input times depth multiplier {}",
                    filter.channels, plan.input.channels, multiplier);
  }
  return okStatus();
}

Status makePlan(const OperationContext& context, DepthwisePlan* plan) {
  size_t next = kFirstScalar;
  WindowOptions options;
  HALYARD_RETURN_IF_ERROR(
      readPaddingAndStrides(context, hasExplicitPadding(context, kImplicitCount), &next, &options));
  int32_t multiplier = 0;
  HALYARD_RETURN_IF_ERROR(context.read(next++, &multiplier), "depth multiplier");
  plan->activationInput = next++;
  HALYARD_RETURN_IF_ERROR(
      readLayoutAndDilations(context, next, /*dilated=*/true, &plan->nchw, &options));
  ImageDims filter;
  HALYARD_RETURN_IF_ERROR(
      readImageDims("input", context.input(kInput).dims, plan->nchw, &plan->input));
  HALYARD_RETURN_IF_ERROR(readImageDims("filter", context.input(kFilter).dims, false, &filter));
  HALYARD_RETURN_IF_ERROR(checkFilterShape(context, multiplier, *plan, filter));
  plan->multiplier = static_cast<size_t>(multiplier);
  HALYARD_RETURN_IF_ERROR(resolveWindow(options, plan->input, static_cast<int64_t>(filter.height),
                                        static_cast<int64_t>(filter.width), &plan->window));
  plan->output = {plan->input.batch, static_cast<size_t>(plan->window.height.output),
                  static_cast<size_t>(plan->window.width.output), filter.channels};
  return okStatus();
}

Status infer(OperationContext& context) {
  DepthwisePlan plan;
  HALYARD_RETURN_IF_ERROR(makePlan(context, &plan));
  HALYARD_RETURN_IF_ERROR(checkFilterAndBias(context.input(kInput), context.input(kFilter),
                                             context.input(kBias), plan.output.channels));
  FuseCode activation;
  HALYARD_RETURN_IF_ERROR(
      unlessIncomplete(readFuseCode(context, plan.activationInput, &activation)));
  context.output(0).dims = imageShape(plan.output, plan.nchw);
  return okStatus();
}

HALYARD_ALWAYS_INLINE void addProduct(float x, int16_t, float w, float* sum) { *sum += x * w; }
template <typename X>
HALYARD_ALWAYS_INLINE void addProduct(X x, int16_t zeroPoint, int16_t w, int32_t* sum) {
  const auto centered = static_cast<int16_t>(static_cast<int16_t>(x) - zeroPoint);
  // Sums wrap around, which int32_t does not allow.
  *sum = static_cast<int32_t>(static_cast<uint32_t>(*sum) + static_cast<uint32_t>(centered * w));
}

// Computes positions [begin, end) of output line `line` (counted over all images).
template <typename X, typename W, typename Sum>
struct Segment {
  const DepthwisePlan* plan;
  const X* image;
  const W* filter;
  int16_t zeroPoint;
  size_t line;
  size_t begin;
  size_t end;
  Sum* sums;  // [end - begin][output channels]
};

template <typename X, typename W, typename Sum>
HALYARD_ALWAYS_INLINE void addTap(const X* __restrict x, int16_t zeroPoint, const W* __restrict w,
                                  size_t channels, size_t multiplier, Sum* __restrict sums) {
  if (multiplier == 1) {
    for (size_t c = 0; c < channels; ++c) addProduct(x[c], zeroPoint, w[c], &sums[c]);
    return;
  }
  for (size_t c = 0; c < channels; ++c) {
    for (size_t q = 0; q < multiplier; ++q) {
      addProduct(x[c], zeroPoint, w[c * multiplier + q], &sums[c * multiplier + q]);
    }
  }
}

template <typename X, typename W, typename Sum>
HALYARD_ALWAYS_INLINE void sumSegment(const Segment<X, W, Sum>* segment) {
  const DepthwisePlan& plan = *segment->plan;
  const WindowAxis& height = plan.window.height;
  const WindowAxis& width = plan.window.width;
  const size_t channels = plan.output.channels;
  const auto image = static_cast<int64_t>(segment->line / plan.output.height);
  const int64_t top = height.origin(static_cast<int64_t>(segment->line % plan.output.height));
  const TapRange rows = tapsInside(height, top);
  Sum* sums = segment->sums;
  std::fill(sums, sums + (segment->end - segment->begin) * channels, Sum{0});
  for (size_t j = segment->begin; j < segment->end; ++j, sums += channels) {
    const int64_t left = width.origin(static_cast<int64_t>(j));
    const TapRange columns = tapsInside(width, left);
    for (int64_t u = rows.begin; u < rows.end; ++u) {
      const int64_t y = image * height.input + top + u * height.dilation;
      for (int64_t v = columns.begin; v < columns.end; ++v) {
        const int64_t x = left + v * width.dilation;
        addTap(segment->image + static_cast<size_t>(y * width.input + x) * plan.input.channels,
               segment->zeroPoint, segment->filter + (u * width.filter + v) * channels,
               plan.input.channels, plan.multiplier, sums);
      }
    }
  }
}

template <typename X, typename W, typename Output>
void convolve(OperationContext& context, const DepthwisePlan& plan, const Tensor& image,
              const W* filter, const Output& output, typename Output::Value* results) {
  using Sum = typename Output::Sum;
  constexpr size_t kSumsAtATime = 8192;  // 32 KiB
  constexpr size_t kWorkPerRange = 1 << 18;
  const size_t channels = plan.output.channels;
  const auto taps = static_cast<size_t>(plan.window.height.filter * plan.window.width.filter);
  const size_t positions = std::max<size_t>(
      std::min(kSumsAtATime / channels, kWorkPerRange / std::max<size_t>(taps * channels, 1)), 1);
  const size_t work = std::max<size_t>(taps * channels * plan.output.width, 1);
  const auto run = [&](size_t lineBegin, size_t lineEnd) {
    const auto sums = std::make_unique_for_overwrite<Sum[]>(positions * channels);
    for (size_t line = lineBegin; line < lineEnd; ++line) {
      for (size_t begin = 0; begin < plan.output.width; begin += positions) {
        checkWorkLimit();
        const size_t end = std::min(begin + positions, plan.output.width);
        const Segment<X, W, Sum> segment = {
            &plan, image.as<X>(), filter, static_cast<int16_t>(image.zeroPoint),
            line,  begin,         end,    sums.get()};
        runBest<&sumSegment<X, W, Sum>>(&segment);
        for (size_t j = begin; j < end; ++j) {
          output.store(sums.get() + (j - begin) * channels, 0, channels,
                       results + (line * plan.output.width + j) * channels);
        }
      }
    }
  };
  context.services().parallelFor(plan.output.batch * plan.output.height,
                                 (kWorkPerRange + work - 1) / work, run);
}

template <typename X>
void convolveQuantized(OperationContext& context, const DepthwisePlan& plan, const Tensor& image,
                       FuseCode activation, Tensor& result) {
  const Tensor& filter = context.input(kFilter);
  const QuantizedOutput<X> output(context, image, filter, context.input(kBias), result, activation);
  auto* centered = context.scratch<int16_t>(filter.elementCount());
  centerFilter(filter, 0, filter.elementCount(), centered);
  convolve<X, int16_t>(context, plan, image, centered, output, result.as<X>());
}

Status reference(OperationContext& context) {
  DepthwisePlan plan;
  FuseCode activation = FuseCode::NONE;
  HALYARD_RETURN_IF_ERROR(makePlan(context, &plan));
  HALYARD_RETURN_IF_ERROR(readFuseCode(context, plan.activationInput, &activation));
  const Tensor image = asNhwc(context, context.input(kInput), plan.nchw);
  NhwcOutput result(context, 0, plan.nchw);
  switch (image.type) {
    case OperandType::TENSOR_FLOAT32:
      convolve<float, float>(context, plan, image, context.input(kFilter).as<float>(),
                             FloatOutput(context.input(kBias), activation),
                             result.tensor().as<float>());
      break;
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
  const Tensor& filter = inputs[kFilter];
  return workElements(outputs[0]) * workDimension(filter, 1) * workDimension(filter, 2);
}

}  // namespace

const OperationDefinition& depthwiseConv2d() {
  return madeOnce([] {
    return OperationDefinition{.type = OperationType::DEPTHWISE_CONV_2D,
                               .signature = makeSignature(),
                               .infer = infer,
                               .reference = reference,
                               .acceptsZeroSized = true,
                               .work = work};
  });
}

}  // namespace halyard::ops
