// POW: one tensor to the power of another, broadcast.
#include <cmath>

#include "ops/broadcast.h"
#include "ops/operation.h"
#include "ops/type_rows.h"

namespace halyard::ops {
namespace {

Status compute(OperationContext& context) {
  applyBroadcast<float, float>(context, [](float x, float y) { return std::pow(x, y); });
  return okStatus();
}

OperationDefinition define() {
  OperationDefinition definition;
  definition.type = OperationType::POW;
  definition.signature.rows = singleTypeRows({{OperandType::TENSOR_FLOAT32, FeatureLevel::FL3},
                                              {OperandType::TENSOR_FLOAT16, FeatureLevel::FL3}});
  definition.signature.forms = {{"", {typed("base", 0), typed("exponent", 0)}, {}}};
  definition.signature.outputs = {typed("output", 0)};
  definition.infer = inferBroadcast;
  definition.reference = compute;
  return definition;
}

}  // namespace

const OperationDefinition& pow() {
  return madeOnce([] { return define(); });
}

}  // namespace halyard::ops
