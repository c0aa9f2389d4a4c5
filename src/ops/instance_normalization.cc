// INSTANCE_NORMALIZATION: shifts and scales each channel of each image to a given mean and spread.
#include <cmath>
#include <cstdint>

#include "ops/axis_lines.h"
#include "ops/elementwise.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"

namespace halyard::ops {
namespace {

enum Input : size_t { kInput, kGamma, kBeta, kEpsilon, kNchw };

Status infer(OperationContext& context) {
  HALYARD_RETURN_IF_ERROR(checkRank(context.input(kInput), 4, 4, "input"));
  context.output(0).dims = context.input(kInput).dims;
  return okStatus();
}

struct Parameters {
  float gamma = 0;
  float beta = 0;
  float epsilon = 0;
};

// One channel of one image: `extent` elements, `step` apart.
void normalize(const float* x, float* y, size_t extent, size_t step, const Parameters& p) {
  const double count = static_cast<double>(extent);
  double sum = 0;
  for (size_t i = 0; i < extent; ++i) sum += static_cast<double>(x[i * step]);
  const double mean = sum / count;
  double squares = 0;
  for (size_t i = 0; i < extent; ++i) {
    const double distance = static_cast<double>(x[i * step]) - mean;
    squares += distance * distance;
  }
  const double factor =
      static_cast<double>(p.gamma) / std::sqrt(squares / count + static_cast<double>(p.epsilon));
  for (size_t i = 0; i < extent; ++i) {
    const double distance = static_cast<double>(x[i * step]) - mean;
    y[i * step] = static_cast<float>(distance * factor + static_cast<double>(p.beta));
  }
}

Status compute(OperationContext& context) {
  Parameters parameters;
  bool nchw = false;
  HALYARD_RETURN_IF_ERROR(context.read(kGamma, &parameters.gamma), "gamma");
  HALYARD_RETURN_IF_ERROR(context.read(kBeta, &parameters.beta), "beta");
  HALYARD_RETURN_IF_ERROR(context.read(kEpsilon, &parameters.epsilon), "epsilon");
  HALYARD_RETURN_IF_ERROR(context.read(kNchw, &nchw), "layout");
  const Shape& dims = context.input(kInput).dims;
  AxisView view;  // the axis is the pixels of an image
  if (nchw) {
    view = {size_t{dims[0]} * dims[1], size_t{dims[2]} * dims[3], 1};
  } else {
    view = {dims[0], size_t{dims[1]} * dims[2], dims[3]};
  }
  const float* input = context.input(kInput).as<float>();
  float* output = context.output(0).as<float>();
  forEachLine(context, view, kElementGrain, [&](size_t at) {
    normalize(input + at, output + at, view.extent, view.inner, parameters);
  });
  return okStatus();
}

OperationDefinition define() {
  using enum FeatureLevel;
  using enum OperandType;
  OperationDefinition definition;
  definition.type = OperationType::INSTANCE_NORMALIZATION;
  // Column 1 is the type of the scalars.
  definition.signature.rows = {{FL3, {TENSOR_FLOAT32, FLOAT32}}, {FL3, {TENSOR_FLOAT16, FLOAT16}}};
  definition.signature.forms = {{"",
                                 {typed("input", 0, rank(4)), typed("gamma", 1), typed("beta", 1),
                                  typed("epsilon", 1), boolean("layout")},
                                 {}}};
  definition.signature.outputs = {typed("output", 0)};
  definition.infer = infer;
  definition.reference = compute;
  return definition;
}

}  // namespace

const OperationDefinition& instanceNormalization() {
  return madeOnce([] { return define(); });
}

}  // namespace halyard::ops
