// FILL: a tensor of given dimensions with one value everywhere.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

#include "ops/elementwise.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"

namespace halyard::ops {
namespace {

// A dimension of 0 gives a zero-sized tensor. inferShapes refuses sizes that overflow.
Status infer(OperationContext& context) {
  HALYARD_RETURN_IF_ERROR(checkRank(context.input(0), 1, 1, "dims"));
  std::span<const int32_t> dims;
  HALYARD_RETURN_IF_ERROR(context.readInts(0, &dims), "dims");
  Shape shape;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0) return opFailed("dims[{}] is {}, expected at least 0", i, dims[i]);
    shape.push_back(static_cast<uint32_t>(dims[i]));
  }
  context.output(0).dims = std::move(shape);
  return okStatus();
}

template <typename T>
void fillWith(OperationContext& context) {
  T value;
  std::memcpy(&value, context.input(1).data, sizeof(value));
  T* output = context.output(0).as<T>();
  context.services().parallelFor(
      context.output(0).elementCount(), kElementGrain,
      [=](size_t begin, size_t end) { std::fill(output + begin, output + end, value); });
}

Status compute(OperationContext& context) {
  if (elementSize(context.output(0).type) == sizeof(uint16_t)) {
    fillWith<uint16_t>(context);
  } else {
    fillWith<uint32_t>(context);
  }
  return okStatus();
}

OperationDefinition define() {
  using enum FeatureLevel;
  using enum OperandType;
  OperationDefinition definition;
  definition.type = OperationType::FILL;
  definition.signature.rows = {{FL4, {TENSOR_FLOAT32, FLOAT32}},
                               {FL4, {TENSOR_FLOAT16, FLOAT16}},
                               {FL4, {TENSOR_INT32, INT32}}};
  definition.signature.forms = {{"", {int32List("dims"), typed("value", 1)}, {}}};
  definition.signature.outputs = {typed("output", 0)};
  definition.infer = infer;
  definition.reference = compute;
  definition.float16AsFloat32 = false;
  return definition;
}

}  // namespace

const OperationDefinition& fill() {
  return madeOnce([] { return define(); });
}

}  // namespace halyard::ops
