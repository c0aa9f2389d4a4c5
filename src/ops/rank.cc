// RANK: the number of dimensions of a tensor, as a scalar.
#include <cstdint>

#include "ops/operation.h"
#include "ops/type_rows.h"

namespace halyard::ops {
namespace {

Status infer(OperationContext& context) {
  context.output(0).dims.clear();
  return okStatus();
}

Status compute(OperationContext& context) {
  *context.output(0).as<int32_t>() = static_cast<int32_t>(context.input(0).rank());
  return okStatus();
}

OperationDefinition define() {
  using enum FeatureLevel;
  using enum OperandType;
  OperationDefinition definition;
  definition.type = OperationType::RANK;
  definition.signature.rows = singleTypeRows({{TENSOR_FLOAT16, FL4},
                                              {TENSOR_FLOAT32, FL4},
                                              {TENSOR_INT32, FL4},
                                              {TENSOR_QUANT8_ASYMM, FL4},
                                              {TENSOR_QUANT16_SYMM, FL4},
                                              {TENSOR_BOOL8, FL4},
                                              {TENSOR_QUANT8_SYMM_PER_CHANNEL, FL4},
                                              {TENSOR_QUANT16_ASYMM, FL4},
                                              {TENSOR_QUANT8_SYMM, FL4},
                                              {TENSOR_QUANT8_ASYMM_SIGNED, FL4}});
  definition.signature.forms = {{"", {typed("input", 0)}, {}}};
  definition.signature.outputs = {fixed("output", INT32)};
  definition.infer = infer;
  definition.reference = compute;
  definition.float16AsFloat32 = false;
  return definition;
}

}  // namespace

const OperationDefinition& rankOperation() {
  return madeOnce([] { return define(); });
}

}  // namespace halyard::ops
