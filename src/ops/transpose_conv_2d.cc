// TRANSPOSE_CONV_2D: signature, shapes, and a kernel. The kernel runs ordinary convolutions, one
// for each phase of the stride.
#include "ops/layout.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"
#include "ops/patch_product.h"
#include "ops/transposed_geometry.h"
#include "ops/work.h"

namespace halyard::ops {
namespace {

constexpr size_t kInput = 0;
constexpr size_t kFilter = 1;
constexpr size_t kBias = 2;
constexpr size_t kOutputShape = 3;  // implicit padding only
constexpr uint32_t kFilterChannelDim = 0;

Signature makeSignature() {
  Signature signature;
  signature.rows = multiplyAccumulateRows(true, FeatureLevel::FL3);
  signature.forms = windowFormsWithLayout({typed("input", 0, rank(4)), typed("filter", 1, rank(4)),
                                           typed("bias", 2, rank(1)).withRankOfComputation()},
                                          {"activation"});
  std::vector<OperandSpec>& implicit = signature.forms.back().inputs;
  implicit.insert(implicit.begin() + kOutputShape, int32List("output shape"));
  signature.outputs = {typed("output", 0, rank(4))};
  signature.check = [](const OperationView& operation, FeatureLevel& level) {
    return checkFilterQuantization(operation, kFilterChannelDim, level);
  };
  return signature;
}

Status infer(OperationContext& context) {
  TransposedPlan plan;
  HALYARD_RETURN_IF_ERROR(readTransposedPlan(context, &plan));
  HALYARD_RETURN_IF_ERROR(checkFilterAndBias(context.input(kInput), context.input(kFilter),
                                             context.input(kBias), plan.output.channels));
  FuseCode activation = FuseCode::NONE;
  HALYARD_RETURN_IF_ERROR(
      unlessIncomplete(readFuseCode(context, plan.activationInput, &activation)));
  context.output(0).dims = imageShape(plan.output, plan.nchw);
  return okStatus();
}

// Returns the product for output positions (vertical.., horizontal..). copyTap(channel, u, v, to)
// copies the values of one tap of the filter.
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

// Fills all output positions with the value that a position without taps has.
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
  // A separate product for each phase without taps would cost much more than its results.
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

// The positions of the values of one filter tap.
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
  HALYARD_RETURN_IF_ERROR(readTransposedPlan(context, &plan));
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
  // Each input value contributes to all outputs that its filters reach.
  return workElements(inputs[kInput]) * workElements(inputs[kFilter]) /
         workDimension(inputs[kFilter], 3);
}

}  // namespace

const OperationDefinition& transposeConv2d() {
  return madeOnce([] {
    return OperationDefinition{.type = OperationType::TRANSPOSE_CONV_2D,
                               .signature = makeSignature(),
                               .infer = infer,
                               .reference = reference,
                               .acceptsZeroSized = true,
                               .work = work};
  });
}

}  // namespace halyard::ops
