// SOFTMAX: exp(beta (x - max)) divided by its sum, along one axis.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "ops/axis_lines.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"
#include "ops/requantize.h"
#include "ops/type_rows.h"
#include "ops/unit_range.h"

namespace halyard::ops {
namespace {

constexpr size_t kBeta = 1;
constexpr size_t kAxis = 2;

Status readBeta(const OperationContext& context, float* beta) {
  HALYARD_RETURN_IF_ERROR(context.read(kBeta, beta), "beta");
  if (*beta > 0 && std::isfinite(*beta)) return okStatus();
  return opFailed("beta is {}, expected a number above 0", *beta);
}

Status infer(OperationContext& context) {
  HALYARD_RETURN_IF_ERROR(checkRank(context.input(0), 1, 4, "input"));
  float beta = 0;
  HALYARD_RETURN_IF_ERROR(unlessIncomplete(readBeta(context, &beta)));
  size_t axis = 0;
  HALYARD_RETURN_IF_ERROR(unlessIncomplete(readOptionalAxis(context, kAxis, &axis)));
  HALYARD_RETURN_IF_ERROR(checkUnitRange(context.output(0)));
  context.output(0).dims = context.input(0).dims;
  return okStatus();
}

// One line of `extent` elements, `step` apart.
void softmaxFloat(const float* x, float* y, size_t extent, size_t step, float beta) {
  float largest = x[0];
  for (size_t i = 1; i < extent; ++i) largest = std::max(largest, x[i * step]);
  double sum = 0;
  for (size_t i = 0; i < extent; ++i) {
    const float e = std::exp(beta * (x[i * step] - largest));
    y[i * step] = e;
    sum += static_cast<double>(e);
  }
  const float factor = static_cast<float>(1 / sum);
  for (size_t i = 0; i < extent; ++i) y[i * step] *= factor;
}

// exp(-beta * scale * d) for every distance d of two stored 8-bit values.
using ExpTable = std::array<double, 256>;

template <typename T>
void softmaxQuantized(const T* x, T* y, size_t extent, size_t step, const ExpTable& table,
                      const Tensor& output) {
  T largest = x[0];
  for (size_t i = 1; i < extent; ++i) largest = std::max(largest, x[i * step]);
  double sum = 0;
  for (size_t i = 0; i < extent; ++i) sum += table[static_cast<size_t>(largest - x[i * step])];
  const double factor = 1 / (sum * static_cast<double>(output.scale));
  const ClampRange<int32_t> range = quantizedRange(output.type);
  for (size_t i = 0; i < extent; ++i) {
    const double units = table[static_cast<size_t>(largest - x[i * step])] * factor;
    y[i * step] = static_cast<T>(quantizeUnits(units, output.zeroPoint, range));
  }
}

template <typename T>
void computeQuantized(OperationContext& context, const AxisView& view, float beta) {
  const Tensor& input = context.input(0);
  Tensor& output = context.output(0);
  ExpTable table;
  const double rate = -static_cast<double>(beta) * static_cast<double>(input.scale);
  for (size_t d = 0; d < table.size(); ++d) table[d] = std::exp(rate * static_cast<double>(d));
  forEachLine(context, view, kExponentialGrain, [&](size_t at) {
    softmaxQuantized(input.as<T>() + at, output.as<T>() + at, view.extent, view.inner, table,
                     output);
  });
}

Status compute(OperationContext& context) {
  float beta = 0;
  HALYARD_RETURN_IF_ERROR(readBeta(context, &beta));
  size_t axis = 0;
  HALYARD_RETURN_IF_ERROR(readOptionalAxis(context, kAxis, &axis));
  const Tensor& input = context.input(0);
  Tensor& output = context.output(0);
  const AxisView view = axisView(input.dims, axis);
  switch (input.type) {
    case OperandType::TENSOR_FLOAT32:
      forEachLine(context, view, kExponentialGrain, [&](size_t at) {
        softmaxFloat(input.as<float>() + at, output.as<float>() + at, view.extent, view.inner,
                     beta);
      });
      return okStatus();
    case OperandType::TENSOR_QUANT8_ASYMM:
      computeQuantized<uint8_t>(context, view, beta);
      return okStatus();
    case OperandType::TENSOR_QUANT8_ASYMM_SIGNED:
      computeQuantized<int8_t>(context, view, beta);
      return okStatus();
    default:
      return badData("input is {}", operandTypeName(input.type));
  }
}

OperationDefinition define() {
  using enum FeatureLevel;
  using enum OperandType;
  OperationDefinition definition;
  definition.type = OperationType::SOFTMAX;
  // Column 1 is the type of beta.
  definition.signature.rows = {{FL1, {TENSOR_FLOAT32, FLOAT32}},
                               {FL3, {TENSOR_FLOAT16, FLOAT16}},
                               {FL1, {TENSOR_QUANT8_ASYMM, FLOAT32}},
                               {FL4, {TENSOR_QUANT8_ASYMM_SIGNED, FLOAT32}}};
  definition.signature.forms = {{"",
                                 {typed("input", 0, {{FL1, 2, 2}, {FL1, 4, 4}, {FL3, 1, 4}}),
                                  typed("beta", 1), int32("axis").withDefault(-1)},
                                 {{2, FL1}, {3, FL3}}}};
  definition.signature.outputs = {typed("output", 0)};
  definition.infer = infer;
  definition.reference = compute;
  definition.acceptsZeroSized = true;
  return definition;
}

}  // namespace

const OperationDefinition& softmax() {
  return madeOnce([] { return define(); });
}

}  // namespace halyard::ops
