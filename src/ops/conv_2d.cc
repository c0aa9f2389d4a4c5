// CONV_2D: signature, shapes, and a kernel that gathers patches of the image into a matrix product.
#include <algorithm>
#include <cstring>

#include "ops/conv_geometry.h"
#include "ops/gemm.h"
#include "ops/layout.h"
#include "ops/multiply_accumulate.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"

namespace halyard::ops {
namespace {

constexpr size_t kInput = 0;
constexpr size_t kFilter = 1;
constexpr size_t kBias = 2;
constexpr size_t kFirstScalar = 3;
constexpr size_t kImplicitCount = 7;
constexpr uint32_t kFilterChannelDim = 0;

struct ConvPlan {
  bool nchw = false;
  size_t activationInput = 0;
  ImageDims input;
  ImageDims output;
  Window window;
};

Signature makeSignature() {
  Signature signature;
  signature.rows = multiplyAccumulateRows(true);
  signature.forms = windowForms(
      {typed("input", 0, rank(4)), typed("filter", 1, rank(4)), typed("bias", 2, rank(1))},
      {"activation"}, /*dilated=*/true);
  signature.outputs = {typed("output", 0, rank(4))};
  signature.check = [](const OperationView& operation, FeatureLevel& level) {
    return checkFilterQuantization(operation, kFilterChannelDim, level);
  };
  return signature;
}

Status makePlan(const OperationContext& context, ConvPlan* plan) {
  size_t next = kFirstScalar;
  WindowOptions options;
  HALYARD_RETURN_IF_ERROR(
      readPaddingAndStrides(context, hasExplicitPadding(context, kImplicitCount), &next, &options));
  plan->activationInput = next++;
  HALYARD_RETURN_IF_ERROR(
      readLayoutAndDilations(context, next, /*dilated=*/true, &plan->nchw, &options));
  ImageDims filter;
  HALYARD_RETURN_IF_ERROR(
      readImageDims("input", context.input(kInput).dims, plan->nchw, &plan->input));
  HALYARD_RETURN_IF_ERROR(readImageDims("filter", context.input(kFilter).dims, false, &filter));
  if (filter.batch == 0) return opFailed("filter has no output channels");
  if (filter.channels != plan->input.channels) {
    return opFailed("filter has depth_in {}, input has {}", filter.channels, plan->input.channels);
  }
  HALYARD_RETURN_IF_ERROR(resolveWindow(options, plan->input, static_cast<int64_t>(filter.height),
                                        static_cast<int64_t>(filter.width), &plan->window));
  plan->output = {plan->input.batch, static_cast<size_t>(plan->window.height.output),
                  static_cast<size_t>(plan->window.width.output), filter.batch};
  return okStatus();
}

Status infer(OperationContext& context) {
  ConvPlan plan;
  HALYARD_RETURN_IF_ERROR(makePlan(context, &plan));
  HALYARD_RETURN_IF_ERROR(checkFilterAndBias(context.input(kInput), context.input(kFilter),
                                             context.input(kBias), plan.output.channels));
  FuseCode activation = FuseCode::NONE;
  HALYARD_RETURN_IF_ERROR(
      unlessIncomplete(readFuseCode(context, plan.activationInput, &activation)));
  context.output(0).dims = imageShape(plan.output, plan.nchw);
  return okStatus();
}

HALYARD_ALWAYS_INLINE void copyValues(const float* from, size_t count, int32_t, float* to) {
  std::memcpy(to, from, count * sizeof(float));
}
template <typename X>
HALYARD_ALWAYS_INLINE void copyValues(const X* from, size_t count, int32_t zeroPoint, int16_t* to) {
  subtractZeroPoint(from, count, zeroPoint, to);
}

// Rows [begin, end) of the matrix of patches: row by row of the output image, for each position the
// values under the filter in the filter's order, zero outside of the image.
template <typename X, typename T>
HALYARD_ALWAYS_INLINE void gatherPatches(const ConvPlan* plan, const X* image, int32_t zeroPoint,
                                         size_t begin, size_t end, T* patches) {
  const WindowAxis& height = plan->window.height;
  const WindowAxis& width = plan->window.width;
  const auto channels = static_cast<int64_t>(plan->input.channels);
  const int64_t rowLength = width.filter * channels;
  const size_t stride = gemmRowStride<T>(static_cast<size_t>(height.filter * rowLength));
  for (size_t row = begin; row < end; ++row, patches += stride) {
    const auto j = static_cast<int64_t>(row % plan->output.width);
    const auto i = static_cast<int64_t>(row / plan->output.width % plan->output.height);
    const auto n = static_cast<int64_t>(row / plan->output.width / plan->output.height);
    const int64_t top = height.origin(i);
    const int64_t left = width.origin(j);
    const TapRange columns = tapsInside(width, left);
    for (int64_t u = 0; u < height.filter; ++u) {
      T* to = patches + u * rowLength;
      const int64_t y = top + u * height.dilation;
      if (y < 0 || y >= height.input) {
        std::memset(to, 0, static_cast<size_t>(rowLength) * sizeof(T));
        continue;
      }
      const X* line = image + (n * height.input + y) * width.input * channels;
      std::memset(to, 0, static_cast<size_t>(columns.begin * channels) * sizeof(T));
      if (width.dilation == 1) {
        copyValues(line + (left + columns.begin) * channels,
                   static_cast<size_t>((columns.end - columns.begin) * channels), zeroPoint,
                   to + columns.begin * channels);
      } else {
        for (int64_t v = columns.begin; v < columns.end; ++v) {
          copyValues(line + (left + v * width.dilation) * channels, static_cast<size_t>(channels),
                     zeroPoint, to + v * channels);
        }
      }
      std::memset(to + columns.end * channels, 0,
                  static_cast<size_t>((width.filter - columns.end) * channels) * sizeof(T));
    }
  }
}

// Whether the matrix of patches is the image itself.
bool isPointwise(const ConvPlan& plan) {
  return plan.window.height.filter == 1 && plan.window.width.filter == 1 &&
         plan.output.height == plan.input.height && plan.output.width == plan.input.width &&
         plan.window.height.stride == 1 && plan.window.width.stride == 1;
}

// X is the type of the image, T what is multiplied.
template <typename X, typename T, typename Output>
void convolve(OperationContext& context, const ConvPlan& plan, const Tensor& image,
              std::function<const T*(size_t, T*)> filterColumn, const Output& output,
              typename Output::Value* results) {
  const size_t channels = plan.output.channels;
  const bool inPlace = std::is_same_v<X, T> && isPointwise(plan);
  GemmProblem<T> problem;
  problem.rows = plan.output.batch * plan.output.height * plan.output.width;
  problem.columns = channels;
  problem.depth = static_cast<size_t>(plan.window.height.filter * plan.window.width.filter) *
                  plan.input.channels;
  problem.left = [&](size_t begin, size_t end, T* buffer) -> const T* {
    if constexpr (std::is_same_v<X, T>) {
      if (inPlace) return image.as<T>() + begin * problem.depth;
    }
    runBest<&gatherPatches<X, T>>(&plan, image.as<X>(), image.zeroPoint, begin, end, buffer);
    return buffer;
  };
  problem.right = std::move(filterColumn);
  problem.store = [&](const GemmTile<T>& tile) {
    for (size_t row = tile.rowBegin; row < tile.rowEnd; ++row) {
      output.store(tile.sums + (row - tile.rowBegin) * tile.stride, tile.columnBegin,
                   tile.columnEnd - tile.columnBegin, results + row * channels + tile.columnBegin);
    }
  };
  gemm(context.services(), problem);
}

template <typename X>
void convolveQuantized(OperationContext& context, const ConvPlan& plan, const Tensor& image,
                       FuseCode activation, Tensor& result) {
  const Tensor& filter = context.input(kFilter);
  const size_t depth = filter.elementCount() / plan.output.channels;
  const QuantizedOutput<X> output(context, image, filter, context.input(kBias), result, activation);
  convolve<X, int16_t>(
      context, plan, image,
      [&](size_t column, int16_t* buffer) {
        centerFilter(filter, column * depth, depth, buffer);
        return buffer;
      },
      output, result.as<X>());
}

Status reference(OperationContext& context) {
  ConvPlan plan;
  FuseCode activation = FuseCode::NONE;
  HALYARD_RETURN_IF_ERROR(makePlan(context, &plan));
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
          [&](size_t column, float*) { return filter.as<float>() + column * depth; }, output,
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

}  // namespace

const OperationDefinition& conv2d() {
  static const OperationDefinition definition = {OperationType::CONV_2D, makeSignature(), infer,
                                                 reference, /*acceptsZeroSized=*/true};
  return definition;
}

}  // namespace halyard::ops
