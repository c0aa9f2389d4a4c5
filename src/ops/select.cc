// SELECT: takes each element from one of two tensors, as a third one says.
#include <cstdint>

#include "ops/elementwise.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"
#include "ops/requantize.h"
#include "ops/type_rows.h"

namespace halyard::ops {
namespace {

Status infer(OperationContext& context) {
  const Shape& shape = context.input(0).dims;
  for (size_t i : {1u, 2u}) {
    if (context.input(i).dims == shape) continue;
    return opFailed("input {} has the shape {}, expected that of the condition, {}", i,
                    realShapeText(context.input(i).dims), realShapeText(shape));
  }
  context.output(0).dims = shape;
  return okStatus();
}

// `fromX` and `fromY` convert the inputs' elements to the output's; they are copied.
template <typename T, typename FromX, typename FromY>
void select(OperationContext& context, FromX fromX, FromY fromY) {
  const auto* condition = context.input(0).as<uint8_t>();
  const T* x = context.input(1).as<T>();
  const T* y = context.input(2).as<T>();
  T* output = context.output(0).as<T>();
  context.services().parallelFor(context.output(0).elementCount(), kElementGrain,
                                 [=](size_t begin, size_t end) {
                                   for (size_t i = begin; i < end; ++i) {
                                     output[i] = condition[i] != 0 ? fromX(x[i]) : fromY(y[i]);
                                   }
                                 });
}

template <typename T>
void move(OperationContext& context) {
  const auto same = [](T element) { return element; };
  select<T>(context, same, same);
}

// The two inputs have separate parameters.
void computeQuantized(OperationContext& context) {
  const Tensor& output = context.output(0);
  const ByteTable tableX = requantizeTable(context.input(1), output);
  const ByteTable tableY = requantizeTable(context.input(2), output);
  select<uint8_t>(
      context, [table = tableX.data()](uint8_t q) { return table[q]; },
      [table = tableY.data()](uint8_t q) { return table[q]; });
}

Status compute(OperationContext& context) {
  const OperandType type = context.output(0).type;
  if (isQuant8Asymm(type)) {
    computeQuantized(context);
  } else if (elementSize(type) == sizeof(uint16_t)) {
    move<uint16_t>(context);
  } else {
    move<uint32_t>(context);
  }
  return okStatus();
}

OperationDefinition define() {
  OperationDefinition definition;
  definition.type = OperationType::SELECT;
  definition.signature.rows = floatInt32AndQuant8Rows(FeatureLevel::FL3);
  definition.signature.forms = {
      {"", {fixed("condition", OperandType::TENSOR_BOOL8), typed("x", 0), typed("y", 0)}, {}}};
  definition.signature.outputs = {typed("output", 0)};
  definition.infer = infer;
  definition.reference = compute;
  definition.float16AsFloat32 = false;
  return definition;
}

}  // namespace

const OperationDefinition& select() {
  return madeOnce([] { return define(); });
}

}  // namespace halyard::ops
