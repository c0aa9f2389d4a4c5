// RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>

#include "ops/conv_geometry.h"
#include "ops/layout.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"
#include "ops/simd.h"
#include "ops/small_copy.h"

namespace halyard::ops {
namespace {

constexpr size_t kWidth = 1;
constexpr size_t kHeight = 2;
constexpr size_t kLayout = 3;
constexpr size_t kAlignCorners = 4;
constexpr size_t kHalfPixelCenters = 5;

// The number of output columns whose sources are computed at a time. A small model can request so
// many columns that the sources of all would need many times the memory of the output.
constexpr size_t kColumnsAtATime = size_t{1} << 14;

struct ResizePlan {
  bool nchw = false;
  bool alignCorners = false;
  bool halfPixelCenters = false;
  ImageDims input;
  ImageDims output;
};

// Column 1 is the type of the scales.
Signature makeSignature(std::vector<TypeRow> rows, const std::vector<CountRule>& bySize,
                        const std::vector<CountRule>& byScale) {
  Signature signature;
  signature.rows = std::move(rows);
  const OperandSpec input = typed("input", 0, rank(4));
  const OperandSpec layout = boolean("NCHW layout").withDefault(0);
  const OperandSpec align = boolean("align corners").withDefault(0);
  const OperandSpec half = boolean("half pixel centers").withDefault(0);
  signature.forms = {
      {"by size",
       {input, int32("output width"), int32("output height"), layout, align, half},
       bySize,
       -1},
      {"by scale",
       {input, typed("width scale", 1), typed("height scale", 1), layout, align, half},
       byScale,
       -1}};
  signature.outputs = {typed("output", 0, rank(4))};
  return signature;
}

std::vector<TypeRow> typeRows(FeatureLevel introduced) {
  using enum OperandType;
  using enum FeatureLevel;
  return {{introduced, {TENSOR_FLOAT32, FLOAT32}},
          {FL3, {TENSOR_FLOAT16, FLOAT16}},
          {FL3, {TENSOR_QUANT8_ASYMM, FLOAT32}},
          {FL4, {TENSOR_QUANT8_ASYMM_SIGNED, FLOAT32}}};
}

Signature bilinearSignature() {
  using enum FeatureLevel;
  return makeSignature(typeRows(FL1), {{3, FL1}, {4, FL3}, {5, FL4}, {6, FL4}},
                       {{3, FL3}, {4, FL3}, {5, FL4}, {6, FL4}});
}

Signature nearestSignature() {
  using enum FeatureLevel;
  const std::vector<CountRule> counts = {{4, FL3}, {5, FL4}, {6, FL4}};
  return makeSignature(typeRows(FL3), counts, counts);
}

// Reads the output's size on one axis, given as a size or as a scale.
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

// Returns the distance of neighbouring output positions in the input.
float ratioOf(const ResizePlan& plan, size_t inputSize, size_t outputSize) {
  return plan.alignCorners && outputSize > 1
             ? static_cast<float>(inputSize - 1) / static_cast<float>(outputSize - 1)
             : static_cast<float>(inputSize) / static_cast<float>(outputSize);
}

// The source of an output coordinate between two input coordinates: low + weight * (high - low).
struct Source {
  size_t low;
  size_t high;
  float weight;
};

Source sourceOf(const ResizePlan& plan, size_t output, size_t inputSize, size_t outputSize) {
  const float ratio = ratioOf(plan, inputSize, outputSize);
  const float position = plan.halfPixelCenters ? (static_cast<float>(output) + 0.5f) * ratio - 0.5f
                                               : static_cast<float>(output) * ratio;
  // Rounding may put the last positions of a large image beyond its end.
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
  auto* columns = context.scratch<Source>(std::min(plan.output.width, kColumnsAtATime));
  for (size_t first = 0; first < plan.output.width; first += kColumnsAtATime) {
    const size_t count = std::min(plan.output.width - first, kColumnsAtATime);
    for (size_t j = 0; j < count; ++j) {
      columns[j] = sourceOf(plan, first + j, plan.input.width, plan.output.width);
    }
    constexpr size_t kValuesPerRange = 1 << 16;
    context.services().parallelFor(
        plan.output.batch * plan.output.height, kValuesPerRange / (count * channels) + 1,
        [&](size_t begin, size_t end) {
          for (size_t i = begin; i < end; ++i) {
            const Source row =
                sourceOf(plan, i % plan.output.height, plan.input.height, plan.output.height);
            const X* from = image.as<X>() + i / plan.output.height * plan.input.height * inputLine;
            const Line<X> line = {from + row.low * inputLine,
                                  from + row.high * inputLine,
                                  row.weight,
                                  columns,
                                  count,
                                  channels};
            runBest<&resizeLine<X>>(&line, output.as<X>() + i * outputLine + first * channels);
          }
        });
  }
}

// Returns the input coordinate whose value an output coordinate takes.
size_t nearestOf(const ResizePlan& plan, size_t output, size_t inputSize, size_t outputSize) {
  const float ratio = ratioOf(plan, inputSize, outputSize);
  const float position = (static_cast<float>(output) + (plan.halfPixelCenters ? 0.5f : 0)) * ratio;
  // Positions are not negative, so this rounds ties away from zero.
  const float chosen = plan.alignCorners ? std::round(position) : std::floor(position);
  // The comparison of floats comes first: a conversion to an integer must be in range.
  if (chosen >= static_cast<float>(inputSize)) return inputSize - 1;
  return std::min(static_cast<size_t>(chosen), inputSize - 1);
}

// Copies pixels of `pixelBytes` bytes of `images` consecutive images. A constant for `kBytes` makes
// the copy one instruction; 0 means any number.
template <size_t kBytes>
void copyNearest(OperationContext& context, const ResizePlan& plan, size_t images,
                 size_t pixelBytes) {
  const auto* from = context.input(0).as<std::byte>();
  auto* to = context.output(0).as<std::byte>();
  const size_t bytes = kBytes == 0 ? pixelBytes : kBytes;
  const size_t inputLine = plan.input.width * bytes;
  const size_t outputLine = plan.output.width * bytes;
  auto* columns = context.scratch<size_t>(std::min(plan.output.width, kColumnsAtATime));
  for (size_t first = 0; first < plan.output.width; first += kColumnsAtATime) {
    const size_t count = std::min(plan.output.width - first, kColumnsAtATime);
    for (size_t j = 0; j < count; ++j) {
      columns[j] = nearestOf(plan, first + j, plan.input.width, plan.output.width) * bytes;
    }
    constexpr size_t kBytesPerRange = 1 << 17;
    context.services().parallelFor(
        images * plan.output.height, kBytesPerRange / (count * bytes) + 1,
        [=, &plan](size_t begin, size_t end) {
          for (size_t i = begin; i < end; ++i) {
            const size_t y =
                nearestOf(plan, i % plan.output.height, plan.input.height, plan.output.height);
            const std::byte* line =
                from + (i / plan.output.height * plan.input.height + y) * inputLine;
            std::byte* target = to + i * outputLine + first * bytes;
            for (size_t j = 0; j < count; ++j, target += bytes) {
              if constexpr (kBytes == 0) {
                copySmall(target, line + columns[j], bytes);
              } else {
                std::memcpy(target, line + columns[j], kBytes);
              }
            }
          }
        });
  }
}

Status nearestReference(OperationContext& context) {
  ResizePlan plan;
  HALYARD_RETURN_IF_ERROR(makePlan(context, &plan));
  // With channels first, every channel is a separate image.
  const size_t images = plan.input.batch * (plan.nchw ? plan.input.channels : 1);
  const size_t pixel = elementSize(context.input(0).type) * (plan.nchw ? 1 : plan.input.channels);
  switch (pixel) {
    case 1:
      copyNearest<1>(context, plan, images, pixel);
      break;
    case 2:
      copyNearest<2>(context, plan, images, pixel);
      break;
    case 3:
      copyNearest<3>(context, plan, images, pixel);
      break;
    case 4:
      copyNearest<4>(context, plan, images, pixel);
      break;
    default:
      copyNearest<0>(context, plan, images, pixel);
      break;
  }
  return okStatus();
}

Status bilinearReference(OperationContext& context) {
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
  return madeOnce([] {
    return OperationDefinition{OperationType::RESIZE_BILINEAR, bilinearSignature(), infer,
                               bilinearReference,
                               /*acceptsZeroSized=*/true};
  });
}

const OperationDefinition& resizeNearestNeighbor() {
  return madeOnce([] {
    return OperationDefinition{OperationType::RESIZE_NEAREST_NEIGHBOR,
                               nearestSignature(),
                               infer,
                               nearestReference,
                               /*acceptsZeroSized=*/true,
                               /*float16AsFloat32=*/false};
  });
}

}  // namespace halyard::ops
