// ELU, HARD_SWISH, LOGISTIC, RELU, RELU1, RELU6 and TANH: functions of one element.
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "ops/activation.h"
#include "ops/elementwise.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"
#include "ops/requantize.h"
#include "ops/type_rows.h"
#include "ops/unit_range.h"

namespace halyard::ops {
namespace {

Status inferClamp(OperationContext& context) {
  HALYARD_RETURN_IF_ERROR(checkSameQuantization(context.input(0), context.output(0)));
  return inferSameShapeToRank4(context);
}

Status inferLogistic(OperationContext& context) {
  HALYARD_RETURN_IF_ERROR(checkUnitRange(context.output(0)));
  return inferSameShapeToRank4(context);
}

Status inferTanh(OperationContext& context) {
  HALYARD_RETURN_IF_ERROR(checkSignedUnitRange(context.output(0)));
  return inferSameShapeToRank4(context);
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

// Functions of a real number, with the precision of their argument.
struct Sigmoid {
  template <typename Real>
  static Real of(Real x) {
    return 1 / (1 + std::exp(-x));
  }
};
struct Tanh {
  template <typename Real>
  static Real of(Real x) {
    return std::tanh(x);
  }
};
struct HardSwish {
  // The gate is divided first, so that large x do not overflow.
  template <typename Real>
  static Real of(Real x) {
    const Real shifted = x + 3;
    const Real raised = shifted < 0 ? Real{0} : shifted;
    return x * ((raised > 6 ? Real{6} : raised) / 6);
  }
};

template <typename Function>
Status compute(OperationContext& context) {
  const OperandType type = context.input(0).type;
  if (type == OperandType::TENSOR_FLOAT32) {
    applyUnary<float, float>(context, [](float x) { return Function::of(x); });
    return okStatus();
  }
  if (!isQuant8Asymm(type)) return badData("input is {}", operandTypeName(type));
  applyToQuantized(context, [](double x) { return Function::of(x); });
  return okStatus();
}

// max(0, x) + min(0, alpha (e^x - 1)). A negative alpha is legal. The second term then counts for
// positive x.
Status computeElu(OperationContext& context) {
  float alpha = 0;
  HALYARD_RETURN_IF_ERROR(context.read(1, &alpha), "alpha");
  applyUnary<float, float>(context, [alpha](float x) {
    const float exponential = alpha * std::expm1(x);
    // 0 * infinity is NaN but must count as 0. A NaN input passes through the other term.
    return (x < 0 ? 0.0f : x) + (exponential < 0 ? exponential : 0.0f);
  });
  return okStatus();
}

OperationDefinition unary(OperationType type, std::vector<TypeRow> rows, RankRules ranks,
                          Status (*infer)(OperationContext&),
                          Status (*reference)(OperationContext&),
                          Precision precision = Precision::APPROXIMATE) {
  OperationDefinition definition;
  definition.type = type;
  definition.signature.rows = std::move(rows);
  definition.signature.forms = {{"", {typed("input", 0, std::move(ranks))}, {}}};
  definition.signature.outputs = {typed("output", 0)};
  definition.infer = infer;
  definition.reference = reference;
  definition.acceptsZeroSized = true;
  definition.precision = precision;
  return definition;
}

OperationDefinition clampOperation(OperationType type, Status (*reference)(OperationContext&)) {
  return unary(type, floatAndQuant8Rows(FeatureLevel::FL1), rankBetween(1, 4), inferClamp,
               reference, Precision::ROUNDED);
}

}  // namespace

const OperationDefinition& elu() {
  return madeOnce([] {
    using enum FeatureLevel;
    using enum OperandType;
    OperationDefinition result = unary(
        OperationType::ELU, {{FL4, {TENSOR_FLOAT32, FLOAT32}}, {FL4, {TENSOR_FLOAT16, FLOAT16}}},
        {}, inferSameShape, computeElu, Precision::ROUNDED);
    result.signature.forms[0].inputs.push_back(typed("alpha", 1));
    return result;
  });
}

const OperationDefinition& hardSwish() {
  using enum FeatureLevel;
  using enum OperandType;
  return madeOnce([] {
    return unary(OperationType::HARD_SWISH,
                 singleTypeRows({{TENSOR_FLOAT32, FL4},
                                 {TENSOR_FLOAT16, FL4},
                                 {TENSOR_QUANT8_ASYMM, FL4},
                                 {TENSOR_QUANT8_ASYMM_SIGNED, FL4}}),
                 {}, inferSameShape, compute<HardSwish>, Precision::ROUNDED);
  });
}

const OperationDefinition& logistic() {
  return madeOnce([] {
    return unary(OperationType::LOGISTIC, floatAndQuant8Rows(FeatureLevel::FL1), rankBetween(1, 4),
                 inferLogistic, compute<Sigmoid>);
  });
}

const OperationDefinition& relu() {
  return madeOnce([] { return clampOperation(OperationType::RELU, clamp<FuseCode::RELU>); });
}

const OperationDefinition& relu1() {
  return madeOnce([] { return clampOperation(OperationType::RELU1, clamp<FuseCode::RELU1>); });
}

const OperationDefinition& relu6() {
  return madeOnce([] { return clampOperation(OperationType::RELU6, clamp<FuseCode::RELU6>); });
}

const OperationDefinition& tanh() {
  return madeOnce([] {
    using enum FeatureLevel;
    using enum OperandType;
    return unary(OperationType::TANH,
                 singleTypeRows({{TENSOR_FLOAT32, FL1},
                                 {TENSOR_FLOAT16, FL3},
                                 {TENSOR_QUANT8_ASYMM, FL3},
                                 {TENSOR_QUANT8_ASYMM_SIGNED, FL4}}),
                 rankBetween(1, 4), inferTanh, compute<Tanh>);
  });
}

}  // namespace halyard::ops
