// L2_NORMALIZATION: divides vectors along one axis by their lengths.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "ops/axis_lines.h"
#include "ops/elementwise.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"
#include "ops/requantize.h"
#include "ops/type_rows.h"
#include "ops/unit_range.h"

namespace halyard::ops {
namespace {

constexpr size_t kAxis = 1;
// The divisor of vectors with a smaller length.
constexpr double kLeastLength = 1e-6;

Status infer(OperationContext& context) {
  HALYARD_RETURN_IF_ERROR(checkRank(context.input(0), 1, 4, "input"));
  size_t axis = 0;
  HALYARD_RETURN_IF_ERROR(unlessIncomplete(readOptionalAxis(context, kAxis, &axis)));
  HALYARD_RETURN_IF_ERROR(checkSignedUnitRange(context.output(0)));
  context.output(0).dims = context.input(0).dims;
  return okStatus();
}

// One vector of `extent` elements, `step` apart.
void normalizeFloat(const float* x, float* y, size_t extent, size_t step) {
  double squares = 0;
  for (size_t i = 0; i < extent; ++i) {
    const double element = static_cast<double>(x[i * step]);
    squares += element * element;
  }
  const double length = std::max(std::sqrt(squares), kLeastLength);
  for (size_t i = 0; i < extent; ++i) {
    y[i * step] = static_cast<float>(static_cast<double>(x[i * step]) / length);
  }
}

// The input's scale cancels out.
template <typename T>
void normalizeQuantized(const T* x, T* y, size_t extent, size_t step, int32_t zeroPoint,
                        const Tensor& output) {
  int64_t squares = 0;
  for (size_t i = 0; i < extent; ++i) {
    const int32_t element = x[i * step] - zeroPoint;
    squares += element * element;
  }
  const double length = squares == 0 ? 1 : std::sqrt(static_cast<double>(squares));
  const double factor = 1 / (length * static_cast<double>(output.scale));
  const ClampRange<int32_t> range = quantizedRange(output.type);
  for (size_t i = 0; i < extent; ++i) {
    const double units = static_cast<double>(x[i * step] - zeroPoint) * factor;
    y[i * step] = static_cast<T>(quantizeUnits(units, output.zeroPoint, range));
  }
}

template <typename T>
Status computeQuantized(OperationContext& context, const AxisView& view) {
  const Tensor& input = context.input(0);
  Tensor& output = context.output(0);
  forEachLine(context, view, kElementGrain, [&](size_t at) {
    normalizeQuantized(input.as<T>() + at, output.as<T>() + at, view.extent, view.inner,
                       input.zeroPoint, output);
  });
  return okStatus();
}

Status compute(OperationContext& context) {
  size_t axis = 0;
  HALYARD_RETURN_IF_ERROR(readOptionalAxis(context, kAxis, &axis));
  const Tensor& input = context.input(0);
  const AxisView view = axisView(input.dims, axis);
  switch (input.type) {
    case OperandType::TENSOR_FLOAT32:
      forEachLine(context, view, kElementGrain, [&](size_t at) {
        normalizeFloat(input.as<float>() + at, context.output(0).as<float>() + at, view.extent,
                       view.inner);
      });
      return okStatus();
    case OperandType::TENSOR_QUANT8_ASYMM:
      return computeQuantized<uint8_t>(context, view);
    case OperandType::TENSOR_QUANT8_ASYMM_SIGNED:
      return computeQuantized<int8_t>(context, view);
    default:
      return badData("input is {}", operandTypeName(input.type));
  }
}

OperationDefinition define() {
  using enum FeatureLevel;
  using enum OperandType;
  OperationDefinition definition;
  definition.type = OperationType::L2_NORMALIZATION;
  definition.signature.rows = singleTypeRows({{TENSOR_FLOAT32, FL1},
                                              {TENSOR_FLOAT16, FL3},
                                              {TENSOR_QUANT8_ASYMM, FL3},
                                              {TENSOR_QUANT8_ASYMM_SIGNED, FL4}});
  definition.signature.forms = {
      {"",
       {typed("input", 0, {{FL1, 4, 4}, {FL3, 1, 4}}), int32("axis").withDefault(-1)},
       {{1, FL1}, {2, FL3}}}};
  definition.signature.outputs = {typed("output", 0)};
  definition.infer = infer;
  definition.reference = compute;
  return definition;
}

}  // namespace

const OperationDefinition& l2Normalization() {
  return madeOnce([] { return define(); });
}

}  // namespace halyard::ops
