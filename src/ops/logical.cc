// LOGICAL_AND, LOGICAL_NOT and LOGICAL_OR. Any byte except 0 is true; true is written as 1.
#include <cstdint>
#include <utility>
#include <vector>

#include "ops/broadcast.h"
#include "ops/elementwise.h"
#include "ops/operation.h"
#include "ops/type_rows.h"

namespace halyard::ops {
namespace {

Status computeAnd(OperationContext& context) {
  applyBroadcast<uint8_t, uint8_t>(
      context, [](uint8_t x, uint8_t y) -> uint8_t { return x != 0 && y != 0 ? 1 : 0; });
  return okStatus();
}

Status computeNot(OperationContext& context) {
  applyUnary<uint8_t, uint8_t>(context, [](uint8_t x) -> uint8_t { return x == 0 ? 1 : 0; });
  return okStatus();
}

Status computeOr(OperationContext& context) {
  applyBroadcast<uint8_t, uint8_t>(
      context, [](uint8_t x, uint8_t y) -> uint8_t { return (x | y) != 0 ? 1 : 0; });
  return okStatus();
}

OperationDefinition logical(OperationType type, std::vector<OperandSpec> inputs,
                            Status (*infer)(OperationContext&),
                            Status (*reference)(OperationContext&)) {
  OperationDefinition definition;
  definition.type = type;
  definition.signature.rows = singleTypeRows({{OperandType::TENSOR_BOOL8, FeatureLevel::FL3}});
  definition.signature.forms = {{"", std::move(inputs), {}}};
  definition.signature.outputs = {typed("output", 0)};
  definition.infer = infer;
  definition.reference = reference;
  definition.precision = Precision::EXACT;
  return definition;
}

}  // namespace

const OperationDefinition& logicalAnd() {
  return madeOnce([] {
    return logical(OperationType::LOGICAL_AND, {typed("a", 0), typed("b", 0)}, inferBroadcast,
                   computeAnd);
  });
}

const OperationDefinition& logicalNot() {
  return madeOnce([] {
    return logical(OperationType::LOGICAL_NOT, {typed("input", 0)}, inferSameShape, computeNot);
  });
}

const OperationDefinition& logicalOr() {
  return madeOnce([] {
    return logical(OperationType::LOGICAL_OR, {typed("a", 0), typed("b", 0)}, inferBroadcast,
                   computeOr);
  });
}

}  // namespace halyard::ops
