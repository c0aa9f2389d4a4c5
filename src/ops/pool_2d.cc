// AVERAGE_POOL_2D, L2_POOL_2D and MAX_POOL_2D.
#include <algorithm>
#include <cmath>
#include <memory>

#include "base/work_limit.h"
#include "ops/activation.h"
#include "ops/conv_geometry.h"
#include "ops/layout.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"
#include "ops/simd.h"
#include "ops/type_rows.h"

namespace halyard::ops {
namespace {

constexpr size_t kFirstScalar = 1;
constexpr size_t kImplicitCount = 7;

struct PoolPlan {
  bool nchw = false;
  size_t activationInput = 0;
  ImageDims input;
  ImageDims output;
  Window window;
};

enum class Pooling { AVERAGE, L2, MAX };

Signature makeSignature(Pooling pooling) {
  Signature signature;
  signature.rows = pooling == Pooling::L2
                       ? singleTypeRows({{OperandType::TENSOR_FLOAT32, FeatureLevel::FL1},
                                         {OperandType::TENSOR_FLOAT16, FeatureLevel::FL3}})
                       : floatAndQuant8Rows(FeatureLevel::FL1);
  signature.forms = windowForms({typed("input", 0, rank(4))},
                                {"filter width", "filter height", "activation"}, /*dilated=*/false);
  signature.outputs = {typed("output", 0, rank(4))};
  return signature;
}

Status makePlan(const OperationContext& context, PoolPlan* plan) {
  size_t next = kFirstScalar;
  WindowOptions options;
  HALYARD_RETURN_IF_ERROR(
      readPaddingAndStrides(context, hasExplicitPadding(context, kImplicitCount), &next, &options));
  int32_t filterWidth = 0;
  int32_t filterHeight = 0;
  HALYARD_RETURN_IF_ERROR(context.read(next++, &filterWidth), "filter width");
  HALYARD_RETURN_IF_ERROR(context.read(next++, &filterHeight), "filter height");
  plan->activationInput = next++;
  HALYARD_RETURN_IF_ERROR(
      readLayoutAndDilations(context, next, /*dilated=*/false, &plan->nchw, &options));
  HALYARD_RETURN_IF_ERROR(readImageDims("input", context.input(0).dims, plan->nchw, &plan->input));
  HALYARD_RETURN_IF_ERROR(
      resolveWindow(options, plan->input, filterHeight, filterWidth, &plan->window));
  plan->output = {plan->input.batch, static_cast<size_t>(plan->window.height.output),
                  static_cast<size_t>(plan->window.width.output), plan->input.channels};
  return okStatus();
}

Status infer(OperationContext& context) {
  PoolPlan plan;
  HALYARD_RETURN_IF_ERROR(makePlan(context, &plan));
  FuseCode activation;
  HALYARD_RETURN_IF_ERROR(
      unlessIncomplete(readFuseCode(context, plan.activationInput, &activation)));
  HALYARD_RETURN_IF_ERROR(checkSameQuantization(context.input(0), context.output(0)));
  context.output(0).dims = imageShape(plan.output, plan.nchw);
  return okStatus();
}

// The image cells for one output position: rows [top, bottom) and columns [left, right) of one
// image of the batch. Never empty, because resolveWindow allows no padding as large as the window.
template <typename X>
struct Cells {
  const X* image;
  int64_t imageWidth;
  int64_t top;
  int64_t bottom;
  int64_t left;
  int64_t right;
  size_t channels;

  int64_t count() const { return (bottom - top) * (right - left); }
  const X* at(int64_t y, int64_t x) const {
    return image + static_cast<size_t>(y * imageWidth + x) * channels;
  }
};

template <typename X, typename Range>
HALYARD_ALWAYS_INLINE void maxOfCells(const Cells<X>* cells, Range range, X* result) {
  const size_t channels = cells->channels;
  std::copy_n(cells->at(cells->top, cells->left), channels, result);
  for (int64_t y = cells->top; y < cells->bottom; ++y) {
    for (int64_t x = cells->left; x < cells->right; ++x) {
      const X* __restrict cell = cells->at(y, x);
      for (size_t c = 0; c < channels; ++c) result[c] = cell[c] > result[c] ? cell[c] : result[c];
    }
  }
  const X low = static_cast<X>(range.min);
  const X high = static_cast<X>(range.max);
  for (size_t c = 0; c < channels; ++c) {
    const X limited = result[c] < low ? low : result[c];
    result[c] = limited > high ? high : limited;
  }
}

// sums[c] = the sum of term(cell[c]).
template <typename X, typename Sum, typename Term>
HALYARD_ALWAYS_INLINE void sumOfCells(const Cells<X>& cells, Sum* __restrict sums, Term term) {
  std::fill_n(sums, cells.channels, Sum{0});
  for (int64_t y = cells.top; y < cells.bottom; ++y) {
    for (int64_t x = cells.left; x < cells.right; ++x) {
      const X* __restrict cell = cells.at(y, x);
      for (size_t c = 0; c < cells.channels; ++c) sums[c] += term(static_cast<Sum>(cell[c]));
    }
  }
}
struct Itself {
  template <typename T>
  HALYARD_ALWAYS_INLINE T operator()(T x) const {
    return x;
  }
};
struct Square {
  HALYARD_ALWAYS_INLINE float operator()(float x) const { return x * x; }
};

HALYARD_ALWAYS_INLINE void averageOfFloats(const Cells<float>* cells, ClampRange<float> range,
                                           float* sums, float* result) {
  sumOfCells(*cells, sums, Itself());
  const auto count = static_cast<float>(cells->count());
  for (size_t c = 0; c < cells->channels; ++c) result[c] = clampTo(sums[c] / count, range);
}

HALYARD_ALWAYS_INLINE void normOfFloats(const Cells<float>* cells, ClampRange<float> range,
                                        float* sums, float* result) {
  sumOfCells(*cells, sums, Square());
  const auto count = static_cast<float>(cells->count());
  for (size_t c = 0; c < cells->channels; ++c) {
    result[c] = clampTo(std::sqrt(sums[c] / count), range);
  }
}

template <typename X, typename Sum>
HALYARD_ALWAYS_INLINE void averageOfQuantized(const Cells<X>* cells, ClampRange<int32_t> range,
                                              Sum* sums, X* result) {
  sumOfCells(*cells, sums, Itself());
  const auto count = static_cast<double>(cells->count());
  for (size_t c = 0; c < cells->channels; ++c) {
    // rha of the quotient. An average is within the type's range, so int32 holds it.
    const double average = static_cast<double>(sums[c]) / count;
    const auto rounded =
        static_cast<int32_t>(average + std::copysign(0x1.fffffffffffffp-2, average));
    const int32_t limited = rounded < range.min ? range.min : rounded;
    result[c] = static_cast<X>(limited > range.max ? range.max : limited);
  }
}

// Calls pool(cells, result) for every output position. makePool() is called for each range of
// lines, so that its result may own a buffer.
template <typename X, typename MakePool>
void forEachPosition(OperationContext& context, const PoolPlan& plan, const Tensor& image,
                     Tensor& output, const MakePool& makePool) {
  const WindowAxis& height = plan.window.height;
  const WindowAxis& width = plan.window.width;
  const size_t channels = plan.input.channels;
  const size_t imageSize = plan.input.height * plan.input.width * channels;
  const auto windowCells = static_cast<size_t>(std::min(height.filter, height.input) *
                                               std::min(width.filter, width.input));
  const size_t work = windowCells * channels * plan.output.width;
  constexpr size_t kWorkPerRange = 1 << 18;
  const size_t positionsPerCheck = kWorkPerRange / (windowCells * channels) + 1;
  context.services().parallelFor(
      plan.output.batch * plan.output.height, kWorkPerRange / work + 1,
      [&](size_t lineBegin, size_t lineEnd) {
        auto pool = makePool();
        for (size_t line = lineBegin; line < lineEnd; ++line) {
          const int64_t top = height.origin(static_cast<int64_t>(line % plan.output.height));
          const TapRange rows = tapsInside(height, top);
          for (int64_t j = 0; j < width.output; ++j) {
            if (static_cast<size_t>(j) % positionsPerCheck == 0) checkWorkLimit();
            const int64_t left = width.origin(j);
            const TapRange columns = tapsInside(width, left);
            const Cells<X> cells = {image.as<X>() + line / plan.output.height * imageSize,
                                    width.input,
                                    top + rows.begin,
                                    top + rows.end,
                                    left + columns.begin,
                                    left + columns.end,
                                    channels};
            pool(cells,
                 output.as<X>() + (line * plan.output.width + static_cast<size_t>(j)) * channels);
          }
        }
      });
}

template <typename X, typename Range>
void maxPool(OperationContext& context, const PoolPlan& plan, const Tensor& image, Tensor& output,
             Range range) {
  forEachPosition<X>(context, plan, image, output, [&] {
    return [range](const Cells<X>& cells, X* result) {
      runBest<&maxOfCells<X, Range>>(&cells, range, result);
    };
  });
}

// `body` is averageOfFloats or normOfFloats.
template <auto body>
void poolSums(OperationContext& context, const PoolPlan& plan, const Tensor& image, Tensor& output,
              ClampRange<float> range) {
  forEachPosition<float>(context, plan, image, output, [&] {
    auto sums = std::make_unique_for_overwrite<float[]>(plan.input.channels);
    return [range, sums = std::move(sums)](const Cells<float>& cells, float* result) {
      runBest<body>(&cells, range, sums.get(), result);
    };
  });
}

template <typename X, typename Sum>
void averagePoolQuantized(OperationContext& context, const PoolPlan& plan, const Tensor& image,
                          Tensor& output, ClampRange<int32_t> range) {
  forEachPosition<X>(context, plan, image, output, [&] {
    auto sums = std::make_unique_for_overwrite<Sum[]>(plan.input.channels);
    return [range, sums = std::move(sums)](const Cells<X>& cells, X* result) {
      runBest<&averageOfQuantized<X, Sum>>(&cells, range, sums.get(), result);
    };
  });
}

template <typename X>
void averagePoolQuantized(OperationContext& context, const PoolPlan& plan, const Tensor& image,
                          Tensor& output, ClampRange<int32_t> range) {
  // int32 can hold the sum of at most 2^23 cells of up to 255.
  if (plan.input.height * plan.input.width <= size_t{1} << 23) {
    averagePoolQuantized<X, int32_t>(context, plan, image, output, range);
  } else {
    averagePoolQuantized<X, int64_t>(context, plan, image, output, range);
  }
}

template <Pooling pooling>
Status reference(OperationContext& context) {
  PoolPlan plan;
  FuseCode activation = FuseCode::NONE;
  HALYARD_RETURN_IF_ERROR(makePlan(context, &plan));
  HALYARD_RETURN_IF_ERROR(readFuseCode(context, plan.activationInput, &activation));
  const Tensor image = asNhwc(context, context.input(0), plan.nchw);
  NhwcOutput result(context, 0, plan.nchw);
  Tensor& output = result.tensor();
  switch (image.type) {
    case OperandType::TENSOR_FLOAT32: {
      const ClampRange<float> range = activationRange(activation);
      if (pooling == Pooling::AVERAGE) {
        poolSums<&averageOfFloats>(context, plan, image, output, range);
      } else if (pooling == Pooling::L2) {
        poolSums<&normOfFloats>(context, plan, image, output, range);
      } else {
        maxPool<float>(context, plan, image, output, range);
      }
      break;
    }
    case OperandType::TENSOR_QUANT8_ASYMM:
    case OperandType::TENSOR_QUANT8_ASYMM_SIGNED: {
      const auto run = [&]<typename X>(X) {
        const ClampRange<int32_t> range = activationRange(activation, output);
        if (pooling == Pooling::AVERAGE) {
          averagePoolQuantized<X>(context, plan, image, output, range);
        } else {
          maxPool<X>(context, plan, image, output, range);
        }
      };
      image.type == OperandType::TENSOR_QUANT8_ASYMM ? run(uint8_t{}) : run(int8_t{});
      break;
    }
    default:
      return opFailed("input is {}, for which there is no kernel", operandTypeName(image.type));
  }
  result.finish();
  return okStatus();
}

}  // namespace

const OperationDefinition& averagePool2d() {
  return madeOnce([] {
    return OperationDefinition{OperationType::AVERAGE_POOL_2D, makeSignature(Pooling::AVERAGE),
                               infer, reference<Pooling::AVERAGE>, /*acceptsZeroSized=*/true};
  });
}

const OperationDefinition& l2Pool2d() {
  return madeOnce([] {
    return OperationDefinition{OperationType::L2_POOL_2D, makeSignature(Pooling::L2), infer,
                               reference<Pooling::L2>, /*acceptsZeroSized=*/true};
  });
}

const OperationDefinition& maxPool2d() {
  return madeOnce([] {
    return OperationDefinition{OperationType::MAX_POOL_2D, makeSignature(Pooling::MAX), infer,
                               reference<Pooling::MAX>,
                               /*acceptsZeroSized=*/true};
  });
}

}  // namespace halyard::ops
