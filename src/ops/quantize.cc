// QUANTIZE: real numbers to 8-bit values.
#include <cstdint>

#include "ops/elementwise.h"
#include "ops/operation.h"
#include "ops/requantize.h"

namespace halyard::ops {
namespace {

Status infer(OperationContext& context) {
  context.output(0).dims = context.input(0).dims;
  return okStatus();
}

// NaN becomes the lowest value.
template <typename T>
void quantizeTo(OperationContext& context) {
  const Tensor& output = context.output(0);
  applyUnary<float, T>(context, [scale = output.scale, zeroPoint = output.zeroPoint,
                                 range = quantizedRange(output.type)](float x) {
    // The definition uses a single-precision quotient.
    return static_cast<T>(quantizeUnits(static_cast<double>(x / scale), zeroPoint, range));
  });
}

Status compute(OperationContext& context) {
  if (context.output(0).type == OperandType::TENSOR_QUANT8_ASYMM) {
    quantizeTo<uint8_t>(context);
  } else {
    quantizeTo<int8_t>(context);
  }
  return okStatus();
}

OperationDefinition define() {
  using enum FeatureLevel;
  using enum OperandType;
  OperationDefinition definition;
  definition.type = OperationType::QUANTIZE;
  definition.signature.rows = {{FL3, {TENSOR_FLOAT32, TENSOR_QUANT8_ASYMM}},
                               {FL3, {TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM}},
                               {FL4, {TENSOR_FLOAT32, TENSOR_QUANT8_ASYMM_SIGNED}},
                               {FL4, {TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM_SIGNED}}};
  definition.signature.forms = {{"", {typed("input", 0)}, {}}};
  definition.signature.outputs = {typed("output", 1)};
  definition.infer = infer;
  definition.reference = compute;
  definition.precision = Precision::ROUNDED;
  definition.acceptsZeroSized = true;
  return definition;
}

}  // namespace

const OperationDefinition& quantize() {
  return madeOnce([] { return define(); });
}

}  // namespace halyard::ops
