// SHAPE of the extension halyard.tflite: the dimensions of a tensor at execution.
#include <algorithm>
#include <cstdint>

#include "ops/operation.h"

namespace halyard::ops {

const OperationDefinition& rankOperation();

namespace {

Status infer(OperationContext& context) {
  context.output(0).dims = {static_cast<uint32_t>(context.input(0).rank())};
  return okStatus();
}

Status compute(OperationContext& context) {
  const Shape& dims = context.input(0).dims;
  auto* const to = context.output(0).as<int32_t>();
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] > INT32_MAX) {
      return opFailed("dimension {} of the input is {}, expected at most {}", i, dims[i],
                      INT32_MAX);
    }
    to[i] = static_cast<int32_t>(dims[i]);
  }
  return okStatus();
}

OperationDefinition define() {
  OperationDefinition definition;
  definition.type = OperationType::SHAPE;
  // The types are those of RANK.
  definition.signature.rows = rankOperation().signature.rows;
  definition.signature.forms = {{"", {typed("input", 0)}, {}}};
  definition.signature.outputs = {fixed("output", OperandType::TENSOR_INT32, rank(1))};
  definition.infer = infer;
  definition.reference = compute;
  definition.acceptsZeroSized = true;
  definition.float16AsFloat32 = false;
  return definition;
}

}  // namespace

const OperationDefinition& shapeOperation() {
  return madeOnce([] { return define(); });
}

}  // namespace halyard::ops
