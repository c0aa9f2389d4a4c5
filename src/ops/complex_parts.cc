// COMPLEX_ABS, REAL and IMAG of the extension halyard.tflite: real numbers from complex ones. A
// complex number is a pair of floats, real and imaginary part. So the last dimension is twice the
// number of complex numbers.
#include <cmath>
#include <cstdint>

#include "ops/elementwise.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"

namespace halyard::ops {
namespace {

Status infer(OperationContext& context) {
  const Tensor& input = context.input(0);
  if (input.rank() == 0 || input.dims.back() % 2 != 0) {
    return opFailed("input is {}, expected an even last dimension of real and imaginary parts",
                    realShapeText(input.dims));
  }
  context.output(0).dims = input.dims;
  context.output(0).dims.back() /= 2;
  return okStatus();
}

struct Magnitude {
  static float of(float real, float imaginary) { return std::hypot(real, imaginary); }
};
struct Real {
  static float of(float real, float /*imaginary*/) { return real; }
};
struct Imaginary {
  static float of(float /*real*/, float imaginary) { return imaginary; }
};

template <typename F>
Status compute(OperationContext& context) {
  const auto* const from = context.input(0).as<float>();
  auto* const to = context.output(0).as<float>();
  context.services().parallelFor(context.output(0).elementCount(), kElementGrain,
                                 [from, to](size_t begin, size_t end) {
                                   for (size_t i = begin; i < end; ++i) {
                                     to[i] = F::of(from[2 * i], from[2 * i + 1]);
                                   }
                                 });
  return okStatus();
}

OperationDefinition define(OperationType type, Status (*reference)(OperationContext&),
                           Precision precision) {
  OperationDefinition definition;
  definition.type = type;
  definition.signature.rows = {{FeatureLevel::FL3, {OperandType::TENSOR_FLOAT32}}};
  definition.signature.forms = {{"", {typed("input", 0)}, {}}};
  definition.signature.outputs = {typed("output", 0)};
  definition.infer = infer;
  definition.reference = reference;
  definition.precision = precision;
  return definition;
}

}  // namespace

const OperationDefinition& complexAbs() {
  return madeOnce([] {
    return define(OperationType::COMPLEX_ABS, compute<Magnitude>, Precision::APPROXIMATE);
  });
}

const OperationDefinition& realPart() {
  return madeOnce([] { return define(OperationType::REAL, compute<Real>, Precision::EXACT); });
}

const OperationDefinition& imaginaryPart() {
  return madeOnce([] { return define(OperationType::IMAG, compute<Imaginary>, Precision::EXACT); });
}

}  // namespace halyard::ops
