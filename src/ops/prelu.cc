// PRELU: multiplies negative elements by those of a second tensor, broadcast.
#include <cstdint>

#include "ops/broadcast.h"
#include "ops/operation.h"
#include "ops/requantize.h"
#include "ops/type_rows.h"

namespace halyard::ops {
namespace {

template <typename T>
void computeQuantized(OperationContext& context) {
  const Tensor& input = context.input(0);
  const Tensor& alpha = context.input(1);
  const Tensor& output = context.output(0);
  applyBroadcast<T, T>(
      context,
      [scale = double{input.scale}, scaleProduct = double{input.scale} * double{alpha.scale},
       scaleOut = double{output.scale}, zero = input.zeroPoint, zeroAlpha = alpha.zeroPoint,
       zeroOut = output.zeroPoint, range = quantizedRange(output.type)](T x, T a) {
        const int32_t stored = x - zero;
        const double real = stored >= 0 ? stored * scale : stored * (a - zeroAlpha) * scaleProduct;
        return static_cast<T>(quantizeUnits(real / scaleOut, zeroOut, range));
      });
}

Status compute(OperationContext& context) {
  switch (context.input(0).type) {
    case OperandType::TENSOR_FLOAT32:
      applyBroadcast<float, float>(context, [](float x, float a) { return x >= 0 ? x : a * x; });
      return okStatus();
    case OperandType::TENSOR_QUANT8_ASYMM:
      computeQuantized<uint8_t>(context);
      return okStatus();
    case OperandType::TENSOR_QUANT8_ASYMM_SIGNED:
      computeQuantized<int8_t>(context);
      return okStatus();
    default:
      return badData("input is {}", operandTypeName(context.input(0).type));
  }
}

OperationDefinition define() {
  OperationDefinition definition;
  definition.type = OperationType::PRELU;
  definition.signature.rows = floatAndQuant8Rows(FeatureLevel::FL3);
  definition.signature.forms = {{"", {typed("input", 0), typed("alpha", 0)}, {}}};
  definition.signature.outputs = {typed("output", 0)};
  definition.infer = inferBroadcast;
  definition.reference = compute;
  definition.precision = Precision::ROUNDED;
  return definition;
}

}  // namespace

const OperationDefinition& prelu() {
  return madeOnce([] { return define(); });
}

}  // namespace halyard::ops
