// LOGISTIC, RELU, RELU1 and RELU6: functions of one element.
#include <cmath>
#include <cstdint>

#include "ops/activation.h"
#include "ops/elementwise.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"
#include "ops/requantize.h"
#include "ops/type_rows.h"
#include "ops/unit_range.h"

namespace halyard::ops {
namespace {

Status inferSameShape(OperationContext& context) {
  HALYARD_RETURN_IF_ERROR(checkRank(context.input(0), 1, 4, "input"));
  context.output(0).dims = context.input(0).dims;
  return okStatus();
}

Status inferClamp(OperationContext& context) {
  HALYARD_RETURN_IF_ERROR(checkSameQuantization(context.input(0), context.output(0)));
  return inferSameShape(context);
}

Status inferLogistic(OperationContext& context) {
  HALYARD_RETURN_IF_ERROR(checkUnitRange(context.output(0)));
  return inferSameShape(context);
}

template <typename T>
void clampQuantized(OperationContext& context, FuseCode code) {
  const ClampRange<int32_t> range = activationRange(code, context.output(0));
  applyUnary<T, T>(context,
                   [low = static_cast<T>(range.min), high = static_cast<T>(range.max)](T q) {
                     const T raised = q < low ? low : q;
                     return raised > high ? high : raised;
                   });
}

template <FuseCode code>
Status clamp(OperationContext& context) {
  switch (context.input(0).type) {
    case OperandType::TENSOR_FLOAT32:
      applyUnary<float, float>(
          context, [range = activationRange(code)](float x) { return clampTo(x, range); });
      return okStatus();
    case OperandType::TENSOR_QUANT8_ASYMM:
      clampQuantized<uint8_t>(context, code);
      return okStatus();
    case OperandType::TENSOR_QUANT8_ASYMM_SIGNED:
      clampQuantized<int8_t>(context, code);
      return okStatus();
    default:
      return badData("input is {}", operandTypeName(context.input(0).type));
  }
}

template <typename Real>
Real sigmoid(Real x) {
  return 1 / (1 + std::exp(-x));
}

Status computeLogistic(OperationContext& context) {
  const Tensor& input = context.input(0);
  if (input.type == OperandType::TENSOR_FLOAT32) {
    applyUnary<float, float>(context, [](float x) { return sigmoid(x); });
    return okStatus();
  }
  if (!isQuant8Asymm(input.type)) return badData("input is {}", operandTypeName(input.type));
  const Tensor& output = context.output(0);
  const ByteTable table = makeByteTable(input.type, [&](int32_t q) {
    const double real = static_cast<double>(input.scale) * (q - input.zeroPoint);
    return quantizeUnits(sigmoid(real) / static_cast<double>(output.scale), output.zeroPoint,
                         quantizedRange(output.type));
  });
  const auto* from = input.as<uint8_t>();
  auto* to = context.output(0).as<uint8_t>();
  context.services().parallelFor(
      output.elementCount(), kElementGrain,
      [&](size_t begin, size_t end) { lookUp(table, from + begin, to + begin, end - begin); });
  return okStatus();
}

OperationDefinition unary(OperationType type, Status (*infer)(OperationContext&),
                          Status (*reference)(OperationContext&)) {
  OperationDefinition definition;
  definition.type = type;
  definition.signature.rows = floatAndQuant8Rows(FeatureLevel::FL1);
  definition.signature.forms = {{"", {typed("input", 0, rankBetween(1, 4))}, {}}};
  definition.signature.outputs = {typed("output", 0)};
  definition.infer = infer;
  definition.reference = reference;
  definition.acceptsZeroSized = true;
  return definition;
}

}  // namespace

const OperationDefinition& logistic() {
  static const OperationDefinition definition = [] {
    OperationDefinition result = unary(OperationType::LOGISTIC, inferLogistic, computeLogistic);
    result.signature.check = checkUnitRangeOutput;
    return result;
  }();
  return definition;
}

const OperationDefinition& relu() {
  static const OperationDefinition definition =
      unary(OperationType::RELU, inferClamp, clamp<FuseCode::RELU>);
  return definition;
}

const OperationDefinition& relu1() {
  static const OperationDefinition definition =
      unary(OperationType::RELU1, inferClamp, clamp<FuseCode::RELU1>);
  return definition;
}

const OperationDefinition& relu6() {
  static const OperationDefinition definition =
      unary(OperationType::RELU6, inferClamp, clamp<FuseCode::RELU6>);
  return definition;
}

}  // namespace halyard::ops
