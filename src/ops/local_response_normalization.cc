// LOCAL_RESPONSE_NORMALIZATION: divides elements by a power of the sum of squares of their
// neighbours along one axis.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "ops/axis_lines.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"

namespace halyard::ops {
namespace {

constexpr size_t kRadius = 1;
constexpr size_t kBias = 2;
constexpr size_t kAlpha = 3;
constexpr size_t kBeta = 4;
constexpr size_t kAxis = 5;

struct Parameters {
  size_t radius = 0;
  double bias = 0;
  double alpha = 0;
  double beta = 0;
};

Status readParameters(const OperationContext& context, Parameters* parameters) {
  int32_t radius = 0;
  float bias = 0;
  float alpha = 0;
  float beta = 0;
  HALYARD_RETURN_IF_ERROR(context.read(kRadius, &radius), "radius");
  HALYARD_RETURN_IF_ERROR(context.read(kBias, &bias), "bias");
  HALYARD_RETURN_IF_ERROR(context.read(kAlpha, &alpha), "alpha");
  HALYARD_RETURN_IF_ERROR(context.read(kBeta, &beta), "beta");
  if (radius < 0) return opFailed("radius is {}, expected 0 or more", radius);
  *parameters = {static_cast<size_t>(radius), static_cast<double>(bias), static_cast<double>(alpha),
                 static_cast<double>(beta)};
  return okStatus();
}

Status infer(OperationContext& context) {
  HALYARD_RETURN_IF_ERROR(checkRank(context.input(0), 1, 4, "input"));
  Parameters parameters;
  HALYARD_RETURN_IF_ERROR(unlessIncomplete(readParameters(context, &parameters)));
  size_t axis = 0;
  HALYARD_RETURN_IF_ERROR(unlessIncomplete(readOptionalAxis(context, kAxis, &axis)));
  context.output(0).dims = context.input(0).dims;
  return okStatus();
}

// Sums of squares over windows of any width. The time does not depend on the width, and there is no
// cancellation as in a running sum. The line is cut into blocks of the windows' width. A window is
// then the end of one block and the start of the next.
class WindowSums {
 public:
  WindowSums(const float* x, size_t extent, size_t step, size_t radius)
      : radius_(std::min(radius, extent - 1)),
        width_(2 * radius_ + 1),
        fromStart_(extent),
        toEnd_(extent) {
    for (size_t i = 0; i < extent; ++i) {
      const double element = static_cast<double>(x[i * step]);
      toEnd_[i] = element * element;
      fromStart_[i] = toEnd_[i] + (i % width_ == 0 ? 0 : fromStart_[i - 1]);
    }
    for (size_t i = extent - 1; i-- > 0;) {
      if ((i + 1) % width_ != 0) toEnd_[i] += toEnd_[i + 1];
    }
  }

  // Returns the sum over elements whose distance to element i is at most the radius.
  double around(size_t i) const {
    const size_t first = i < radius_ ? 0 : i - radius_;
    const size_t last = std::min(i + radius_, toEnd_.size() - 1);
    // The window starts with a block, and never reaches the next one.
    if (first % width_ == 0) return fromStart_[last];
    // The window is cut off at the line's end, and has only the end of the last block.
    if (first / width_ == last / width_) return toEnd_[first];
    return toEnd_[first] + fromStart_[last];
  }

 private:
  size_t radius_;
  size_t width_;
  std::vector<double> fromStart_;  // sum of the element's block up to the element
  std::vector<double> toEnd_;      // sum of the element's block from the element on
};

// One line of `extent` elements, `step` apart.
void normalize(const float* x, float* y, size_t extent, size_t step, const Parameters& p) {
  const WindowSums sums(x, extent, step, p.radius);
  for (size_t i = 0; i < extent; ++i) {
    const double divisor = std::pow(p.bias + p.alpha * sums.around(i), -p.beta);
    y[i * step] = static_cast<float>(static_cast<double>(x[i * step]) * divisor);
  }
}

Status compute(OperationContext& context) {
  Parameters parameters;
  HALYARD_RETURN_IF_ERROR(readParameters(context, &parameters));
  size_t axis = 0;
  HALYARD_RETURN_IF_ERROR(readOptionalAxis(context, kAxis, &axis));
  const AxisView view = axisView(context.input(0).dims, axis);
  const float* input = context.input(0).as<float>();
  float* output = context.output(0).as<float>();
  forEachLine(context, view, kExponentialGrain, [&](size_t at) {
    normalize(input + at, output + at, view.extent, view.inner, parameters);
  });
  return okStatus();
}

OperationDefinition define() {
  using enum FeatureLevel;
  using enum OperandType;
  OperationDefinition definition;
  definition.type = OperationType::LOCAL_RESPONSE_NORMALIZATION;
  // Column 1 is the type of the scalars.
  definition.signature.rows = {{FL1, {TENSOR_FLOAT32, FLOAT32}}, {FL3, {TENSOR_FLOAT16, FLOAT16}}};
  definition.signature.forms = {
      {"",
       {typed("input", 0, {{FL1, 4, 4}, {FL3, 1, 4}}), int32("radius"), typed("bias", 1),
        typed("alpha", 1), typed("beta", 1), int32("axis").withDefault(-1)},
       {{5, FL1}, {6, FL3}}}};
  definition.signature.outputs = {typed("output", 0)};
  definition.infer = infer;
  definition.reference = compute;
  return definition;
}

}  // namespace

const OperationDefinition& localResponseNormalization() {
  return madeOnce([] { return define(); });
}

}  // namespace halyard::ops
