// LOG_SOFTMAX: beta x minus the logarithm of the sum of exp(beta x), along one axis.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "ops/axis_lines.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"

namespace halyard::ops {
namespace {

constexpr size_t kBeta = 1;
constexpr size_t kAxis = 2;

Status infer(OperationContext& context) {
  size_t axis = 0;
  HALYARD_RETURN_IF_ERROR(unlessIncomplete(readAxis(context, kAxis, &axis)));
  context.output(0).dims = context.input(0).dims;
  return okStatus();
}

// One line of `extent` elements, `step` apart. The largest beta x (not x, as beta may be negative)
// is factored out of the sum, which is then at least 1.
void logSoftmax(const float* x, float* y, size_t extent, size_t step, double beta) {
  const auto term = [=](size_t i) { return beta * static_cast<double>(x[i * step]); };
  double largest = term(0);
  for (size_t i = 1; i < extent; ++i) largest = std::max(largest, term(i));
  double sum = 0;
  for (size_t i = 0; i < extent; ++i) sum += std::exp(term(i) - largest);
  const double logarithm = std::log(sum);
  for (size_t i = 0; i < extent; ++i) {
    y[i * step] = static_cast<float>(term(i) - largest - logarithm);
  }
}

Status compute(OperationContext& context) {
  float beta = 0;
  HALYARD_RETURN_IF_ERROR(context.read(kBeta, &beta), "beta");
  size_t axis = 0;
  HALYARD_RETURN_IF_ERROR(readAxis(context, kAxis, &axis));
  const AxisView view = axisView(context.input(0).dims, axis);
  const float* input = context.input(0).as<float>();
  float* output = context.output(0).as<float>();
  forEachLine(context, view, kExponentialGrain, [&](size_t at) {
    logSoftmax(input + at, output + at, view.extent, view.inner, static_cast<double>(beta));
  });
  return okStatus();
}

OperationDefinition define() {
  using enum FeatureLevel;
  using enum OperandType;
  OperationDefinition definition;
  definition.type = OperationType::LOG_SOFTMAX;
  // Column 1 is the type of beta.
  definition.signature.rows = {{FL3, {TENSOR_FLOAT32, FLOAT32}}, {FL3, {TENSOR_FLOAT16, FLOAT16}}};
  definition.signature.forms = {{"", {typed("input", 0), typed("beta", 1), int32("axis")}, {}}};
  definition.signature.outputs = {typed("output", 0)};
  definition.infer = infer;
  definition.reference = compute;
  return definition;
}

}  // namespace

const OperationDefinition& logSoftmax() {
  return madeOnce([] { return define(); });
}

}  // namespace halyard::ops
