// COS, ROUND and GELU of the extension halyard.tflite: functions of one element.
#include <cmath>
#include <numbers>

#include "ops/elementwise.h"
#include "ops/operation.h"
#include "ops/type_rows.h"

namespace halyard::ops {
namespace {

Status computeCos(OperationContext& context) {
  applyUnary<float, float>(context, [](float x) { return std::cos(x); });
  return okStatus();
}

// The default rounding mode takes the even one of two integers at the same distance.
Status computeRound(OperationContext& context) {
  applyUnary<float, float>(context, [](float x) { return std::nearbyint(x); });
  return okStatus();
}

float gelu(float x) { return 0.5f * x * std::erfc(-x * (std::numbers::sqrt2_v<float> / 2)); }

float approximateGelu(float x) {
  constexpr float kFactor = 0.7978845608f;  // the square root of 2 / pi
  return 0.5f * x * (1 + std::tanh(kFactor * (x + 0.044715f * x * x * x)));
}

Status computeGelu(OperationContext& context) {
  bool isApproximate = false;
  HALYARD_RETURN_IF_ERROR(context.read(1, &isApproximate), "approximate");
  if (isApproximate) {
    applyUnary<float, float>(context, approximateGelu);
  } else {
    applyUnary<float, float>(context, gelu);
  }
  return okStatus();
}

OperationDefinition define(OperationType type, Status (*reference)(OperationContext&),
                           Precision precision) {
  OperationDefinition definition;
  definition.type = type;
  definition.signature.rows = singleTypeRows({{OperandType::TENSOR_FLOAT32, FeatureLevel::FL3},
                                              {OperandType::TENSOR_FLOAT16, FeatureLevel::FL3}});
  definition.signature.forms = {{"", {typed("input", 0)}, {}}};
  definition.signature.outputs = {typed("output", 0)};
  definition.infer = inferSameShape;
  definition.reference = reference;
  definition.precision = precision;
  return definition;
}

}  // namespace

const OperationDefinition& cosine() {
  return madeOnce([] { return define(OperationType::COS, computeCos, Precision::APPROXIMATE); });
}

const OperationDefinition& roundToEven() {
  return madeOnce([] { return define(OperationType::ROUND, computeRound, Precision::ROUNDED); });
}

const OperationDefinition& geluOperation() {
  return madeOnce([] {
    OperationDefinition definition =
        define(OperationType::GELU, computeGelu, Precision::APPROXIMATE);
    definition.signature.forms[0].inputs.push_back(boolean("approximate"));
    return definition;
  });
}

}  // namespace halyard::ops
