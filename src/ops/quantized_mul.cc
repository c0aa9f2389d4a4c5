// QUANTIZED_MUL of the extension halyard.tflite: MUL of 8-bit tensors into an output of any scale,
// in TensorFlow Lite's fixed-point arithmetic. NNAPI's MUL requires an output scale above the
// product of the inputs' scales.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "ops/activation.h"
#include "ops/broadcast.h"
#include "ops/fixed_point.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"
#include "ops/type_rows.h"

namespace halyard::ops {
namespace {

constexpr size_t kActivation = 2;

// Returns the multiplier of an integer product, computed in float32 as in the definition.
float ratioOf(const OperationContext& context, const Tensor& output) {
  return context.input(0).scale * context.input(1).scale / output.scale;
}

Status infer(OperationContext& context) {
  FuseCode code = FuseCode::NONE;
  HALYARD_RETURN_IF_ERROR(unlessIncomplete(readFuseCode(context, kActivation, &code)));
  const float ratio = ratioOf(context, context.output(0));
  if (!std::isfinite(ratio)) {
    return opFailed("the scales {} and {} over the output's {} are {}, expected a finite number",
                    context.input(0).scale, context.input(1).scale, context.output(0).scale, ratio);
  }
  return inferBroadcast(context);
}

template <typename T>
void multiply(OperationContext& context, FuseCode code) {
  const Tensor& output = context.output(0);
  applyBroadcast<T, T>(context,
                       [range = activationRange(code, output),
                        multiplier = toFixedMultiplier(double{ratioOf(context, output)}),
                        zeroA = context.input(0).zeroPoint, zeroB = context.input(1).zeroPoint,
                        zeroOut = output.zeroPoint](T a, T b) {
                         const int32_t product = (a - zeroA) * (b - zeroB);
                         const int64_t q = int64_t{multiplyByFixed(product, multiplier)} + zeroOut;
                         return static_cast<T>(std::clamp<int64_t>(q, range.min, range.max));
                       });
}

Status compute(OperationContext& context) {
  FuseCode code = FuseCode::NONE;
  HALYARD_RETURN_IF_ERROR(readFuseCode(context, kActivation, &code));
  if (context.input(0).type == OperandType::TENSOR_QUANT8_ASYMM) {
    multiply<uint8_t>(context, code);
  } else {
    multiply<int8_t>(context, code);
  }
  return okStatus();
}

OperationDefinition define() {
  OperationDefinition definition;
  definition.type = OperationType::QUANTIZED_MUL;
  definition.signature.rows =
      singleTypeRows({{OperandType::TENSOR_QUANT8_ASYMM, FeatureLevel::FL3},
                      {OperandType::TENSOR_QUANT8_ASYMM_SIGNED, FeatureLevel::FL4}});
  definition.signature.forms = {{"", {typed("a", 0), typed("b", 0), int32("activation")}, {}}};
  definition.signature.outputs = {typed("output", 0)};
  definition.infer = infer;
  definition.reference = compute;
  definition.acceptsZeroSized = true;
  definition.precision = Precision::ROUNDED;
  return definition;
}

}  // namespace

const OperationDefinition& quantizedMul() {
  return madeOnce([] { return define(); });
}

}  // namespace halyard::ops
