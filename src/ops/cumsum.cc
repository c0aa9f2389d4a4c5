// CUMSUM of the extension halyard.tflite: sums of all elements up to each one, along an axis.
#include <cstddef>
#include <cstdint>

#include "ops/axis_lines.h"
#include "ops/elementwise.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"
#include "ops/type_rows.h"

namespace halyard::ops {
namespace {

enum Input : size_t { kAxis = 1, kExclusive, kReverse };

Status infer(OperationContext& context) {
  size_t axis = 0;
  HALYARD_RETURN_IF_ERROR(unlessIncomplete(readAxis(context, kAxis, &axis)));
  return inferSameShape(context);
}

// T: float, or uint32_t for integers, which wrap around.
template <typename T>
Status sum(OperationContext& context) {
  size_t axis = 0;
  bool isExclusive = false;
  bool isReverse = false;
  HALYARD_RETURN_IF_ERROR(readAxis(context, kAxis, &axis));
  HALYARD_RETURN_IF_ERROR(context.read(kExclusive, &isExclusive), "exclusive");
  HALYARD_RETURN_IF_ERROR(context.read(kReverse, &isReverse), "reverse");
  const AxisView view = axisView(context.input(0).dims, axis);
  const T* from = context.input(0).as<T>();
  T* to = context.output(0).as<T>();
  forEachLine(context, view, kElementGrain, [=](size_t first) {
    T total = 0;
    for (size_t k = 0; k < view.extent; ++k) {
      const size_t at = first + (isReverse ? view.extent - 1 - k : k) * view.inner;
      const T next = total + from[at];
      to[at] = isExclusive ? total : next;
      total = next;
    }
  });
  return okStatus();
}

Status compute(OperationContext& context) {
  const bool isInt = context.input(0).type == OperandType::TENSOR_INT32;
  return isInt ? sum<uint32_t>(context) : sum<float>(context);
}

OperationDefinition define() {
  OperationDefinition definition;
  definition.type = OperationType::CUMSUM;
  definition.signature.rows = singleTypeRows({{OperandType::TENSOR_FLOAT32, FeatureLevel::FL3},
                                              {OperandType::TENSOR_FLOAT16, FeatureLevel::FL3},
                                              {OperandType::TENSOR_INT32, FeatureLevel::FL3}});
  definition.signature.forms = {
      {"", {typed("input", 0), int32("axis"), boolean("exclusive"), boolean("reverse")}, {}}};
  definition.signature.outputs = {typed("output", 0)};
  definition.infer = infer;
  definition.reference = compute;
  definition.precision = Precision::SUMS;
  return definition;
}

}  // namespace

const OperationDefinition& cumsum() {
  return madeOnce([] { return define(); });
}

}  // namespace halyard::ops
