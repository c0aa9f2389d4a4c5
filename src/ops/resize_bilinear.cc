// RESIZE_BILINEAR.
#include <algorithm>
#include <cmath>

#include "ops/conv_geometry.h"
#include "ops/layout.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"
#include "ops/simd.h"

namespace halyard::ops {
namespace {

constexpr size_t kWidth = 1;
constexpr size_t kHeight = 2;
constexpr size_t kLayout = 3;
constexpr size_t kAlignCorners = 4;
constexpr size_t kHalfPixelCenters = 5;

struct ResizePlan {
  bool nchw = false;
  bool alignCorners = false;
  bool halfPixelCenters = false;
  ImageDims input;
  ImageDims output;
};

Signature makeSignature() {
  using enum OperandType;
  using enum FeatureLevel;
  Signature signature;
  // Column 1 is the type of the scales.
  signature.rows = {{FL1, {TENSOR_FLOAT32, FLOAT32}},
                    {FL3, {TENSOR_FLOAT16, FLOAT16}},
                    {FL3, {TENSOR_QUANT8_ASYMM, FLOAT32}},
                    {FL4, {TENSOR_QUANT8_ASYMM_SIGNED, FLOAT32}}};
  const OperandSpec input = typed("input", 0, rank(4));
  const OperandSpec layout = boolean("NCHW layout");
  const OperandSpec align = boolean("align corners");
  const OperandSpec half = boolean("half pixel centers");
  signature.forms = {
      {"by size",
       {input, int32("output width"), int32("output height"), layout, align, half},
       {{3, FL1}, {4, FL3}, {5, FL4}, {6, FL4}},
       -1},
      {"by scale",
       {input, typed("width scale", 1), typed("height scale", 1), layout, align, half},
       {{3, FL3}, {4, FL3}, {5, FL4}, {6, FL4}},
       -1}};
  signature.outputs = {typed("output", 0, rank(4))};
  return signature;
}

// The output's size on one axis, given as a size or as a scale.
Status readSize(const OperationContext& context, size_t i, std::string_view axis, size_t input,
                size_t* output) {
  if (context.input(i).type == OperandType::INT32) {
    int32_t size = 0;
    HALYARD_RETURN_IF_ERROR(context.read(i, &size), "output {}", axis);
    if (size <= 0) return opFailed("output {} is {}, expected more than 0", axis, size);
    *output = static_cast<size_t>(size);
    return okStatus();
  }
  float scale = 0;
  HALYARD_RETURN_IF_ERROR(context.read(i, &scale), "{} scale", axis);
  const float size = std::floor(static_cast<float>(input) * scale);
  if (!(size >= 1.0f && size < 0x1p31f)) {
    return opFailed("{} scale {} makes {} of the input's {}, expected 1 to 2147483647", axis, scale,
                    size, input);
  }
  *output = static_cast<size_t>(size);
  return okStatus();
}

Status makePlan(const OperationContext& context, ResizePlan* plan) {
  HALYARD_RETURN_IF_ERROR(context.readOptional(kLayout, &plan->nchw), "layout");
  HALYARD_RETURN_IF_ERROR(context.readOptional(kAlignCorners, &plan->alignCorners),
                          "align corners");
  HALYARD_RETURN_IF_ERROR(context.readOptional(kHalfPixelCenters, &plan->halfPixelCenters),
                          "half pixel centers");
  if (plan->alignCorners && plan->halfPixelCenters) {
    return opFailed("align corners and half pixel centers are both true, expected one at most");
  }
  HALYARD_RETURN_IF_ERROR(readImageDims("input", context.input(0).dims, plan->nchw, &plan->input));
  plan->output = plan->input;
  HALYARD_RETURN_IF_ERROR(
      readSize(context, kWidth, "width", plan->input.width, &plan->output.width));
  return readSize(context, kHeight, "height", plan->input.height, &plan->output.height);
}

Status infer(OperationContext& context) {
  ResizePlan plan;
  HALYARD_RETURN_IF_ERROR(makePlan(context, &plan));
  HALYARD_RETURN_IF_ERROR(checkSameQuantization(context.input(0), context.output(0)));
  context.output(0).dims = imageShape(plan.output, plan.nchw);
  return okStatus();
}

// Between which input coordinates an output coordinate lies: at low + weight * (high - low).
struct Source {
  size_t low;
  size_t high;
  float weight;
};

Source sourceOf(const ResizePlan& plan, size_t output, size_t inputSize, size_t outputSize) {
  const float ratio = plan.alignCorners && outputSize > 1
                          ? static_cast<float>(inputSize - 1) / static_cast<float>(outputSize - 1)
                          : static_cast<float>(inputSize) / static_cast<float>(outputSize);
  const float position = plan.halfPixelCenters ? (static_cast<float>(output) + 0.5f) * ratio - 0.5f
                                               : static_cast<float>(output) * ratio;
  // Rounding may put the last positions of a large image behind its end.
  const auto last = static_cast<float>(inputSize - 1);
  const float low = std::clamp(std::floor(position), 0.0f, last);
  const float high = std::clamp(std::ceil(position), low, last);
  Source source = {static_cast<size_t>(low), static_cast<size_t>(high), position - low};
  source.low = std::min(source.low, inputSize - 1);
  source.high = std::min(source.high, inputSize - 1);
  if (source.low == source.high) source.weight = 0;
  return source;
}

HALYARD_ALWAYS_INLINE float rounded(float value, float) { return value; }
template <typename X>
HALYARD_ALWAYS_INLINE X rounded(float value, X) {
  return static_cast<X>(static_cast<int32_t>(value + std::copysign(0x1.fffffep-2f, value)));
}

template <typename X>
struct Line {
  const X* top;     // input lines above and below
  const X* bottom;  // the output line
  float weight;     // of `bottom`
  const Source* columns;
  size_t width;
  size_t channels;
};

template <typename X>
HALYARD_ALWAYS_INLINE void resizeLine(const Line<X>* line, X* output) {
  const size_t channels = line->channels;
  for (size_t j = 0; j < line->width; ++j, output += channels) {
    const Source source = line->columns[j];
    const X* __restrict topLow = line->top + source.low * channels;
    const X* __restrict topHigh = line->top + source.high * channels;
    const X* __restrict bottomLow = line->bottom + source.low * channels;
    const X* __restrict bottomHigh = line->bottom + source.high * channels;
    const float weights[4] = {(1 - line->weight) * (1 - source.weight),
                              (1 - line->weight) * source.weight,
                              line->weight * (1 - source.weight), line->weight * source.weight};
    for (size_t c = 0; c < channels; ++c) {
      const float value = static_cast<float>(topLow[c]) * weights[0] +
                          static_cast<float>(topHigh[c]) * weights[1] +
                          static_cast<float>(bottomLow[c]) * weights[2] +
                          static_cast<float>(bottomHigh[c]) * weights[3];
      output[c] = rounded(value, X{});
    }
  }
}

template <typename X>
void resize(OperationContext& context, const ResizePlan& plan, const Tensor& image,
            Tensor& output) {
  const size_t channels = plan.input.channels;
  const size_t inputLine = plan.input.width * channels;
  const size_t outputLine = plan.output.width * channels;
  auto* columns = context.scratch<Source>(plan.output.width);
  for (size_t j = 0; j < plan.output.width; ++j) {
    columns[j] = sourceOf(plan, j, plan.input.width, plan.output.width);
  }
  constexpr size_t kValuesPerRange = 1 << 16;
  context.services().parallelFor(
      plan.output.batch * plan.output.height, kValuesPerRange / outputLine + 1,
      [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) {
          const Source row =
              sourceOf(plan, i % plan.output.height, plan.input.height, plan.output.height);
          const X* from = image.as<X>() + i / plan.output.height * plan.input.height * inputLine;
          const Line<X> line = {from + row.low * inputLine,
                                from + row.high * inputLine,
                                row.weight,
                                columns,
                                plan.output.width,
                                channels};
          runBest<&resizeLine<X>>(&line, output.as<X>() + i * outputLine);
        }
      });
}

Status reference(OperationContext& context) {
  ResizePlan plan;
  HALYARD_RETURN_IF_ERROR(makePlan(context, &plan));
  const Tensor image = asNhwc(context, context.input(0), plan.nchw);
  NhwcOutput result(context, 0, plan.nchw);
  switch (image.type) {
    case OperandType::TENSOR_FLOAT32:
      resize<float>(context, plan, image, result.tensor());
      break;
    case OperandType::TENSOR_QUANT8_ASYMM:
      resize<uint8_t>(context, plan, image, result.tensor());
      break;
    case OperandType::TENSOR_QUANT8_ASYMM_SIGNED:
      resize<int8_t>(context, plan, image, result.tensor());
      break;
    default:
      return opFailed("input is {}, for which there is no kernel", operandTypeName(image.type));
  }
  result.finish();
  return okStatus();
}

}  // namespace

const OperationDefinition& resizeBilinear() {
  static const OperationDefinition definition = {OperationType::RESIZE_BILINEAR, makeSignature(),
                                                 infer, reference, /*acceptsZeroSized=*/true};
  return definition;
}

}  // namespace halyard::ops
