// ARGMAX and ARGMIN: the position of the largest or smallest element along an axis.
#include <cstdint>
#include <type_traits>

#include "ops/axis_lines.h"
#include "ops/elementwise.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"
#include "ops/type_rows.h"

namespace halyard::ops {
namespace {

constexpr size_t kAxis = 1;

Status infer(OperationContext& context) {
  const Tensor& input = context.input(0);
  size_t axis = 0;
  HALYARD_RETURN_IF_ERROR(readAxis(context, kAxis, &axis));
  if (input.dims[axis] > INT32_MAX) {
    return opFailed("dimension {} of the input {} is too large for indices of 32 bits", axis,
                    realShapeText(input.dims));
  }
  Shape result = input.dims;
  result.erase(result.begin() + static_cast<std::ptrdiff_t>(axis));
  if (result.empty()) result.push_back(1);
  context.output(0).dims = std::move(result);
  return okStatus();
}

// Any number beats NaN. Equal elements do not beat each other, so the first one stays.
template <bool kLargest, typename T>
bool beats(T challenger, T best) {
  if constexpr (std::is_floating_point_v<T>) {
    if (best != best) return challenger == challenger;
  }
  return kLargest ? challenger > best : challenger < best;
}

template <bool kLargest, typename T>
Status findBest(OperationContext& context, size_t axis) {
  const AxisView view = axisView(context.input(0).dims, axis);
  const T* input = context.input(0).as<T>();
  int32_t* output = context.output(0).as<int32_t>();
  forEachLine(context, view, kElementGrain, [&](size_t at) {
    const T* x = input + at;
    size_t best = 0;
    for (size_t i = 1; i < view.extent; ++i) {
      if (beats<kLargest>(x[i * view.inner], x[best * view.inner])) best = i;
    }
    output[at / (view.extent * view.inner) * view.inner + at % view.inner] =
        static_cast<int32_t>(best);
  });
  return okStatus();
}

template <bool kLargest>
Status compute(OperationContext& context) {
  size_t axis = 0;
  HALYARD_RETURN_IF_ERROR(readAxis(context, kAxis, &axis));
  switch (context.input(0).type) {
    case OperandType::TENSOR_FLOAT32:
      return findBest<kLargest, float>(context, axis);
    case OperandType::TENSOR_INT32:
      return findBest<kLargest, int32_t>(context, axis);
    case OperandType::TENSOR_QUANT8_ASYMM:
      return findBest<kLargest, uint8_t>(context, axis);
    case OperandType::TENSOR_QUANT8_ASYMM_SIGNED:
      return findBest<kLargest, int8_t>(context, axis);
    default:
      return badData("input is {}", operandTypeName(context.input(0).type));
  }
}

OperationDefinition define(OperationType type, Status (*reference)(OperationContext&)) {
  OperationDefinition definition;
  definition.type = type;
  definition.signature.rows = floatInt32AndQuant8Rows(FeatureLevel::FL3);
  definition.signature.forms = {{"", {typed("input", 0), int32("axis")}, {}}};
  definition.signature.outputs = {fixed("output", OperandType::TENSOR_INT32)};
  definition.infer = infer;
  definition.reference = reference;
  definition.precision = Precision::EXACT;
  return definition;
}

}  // namespace

const OperationDefinition& argMax() {
  return madeOnce([] { return define(OperationType::ARGMAX, compute<true>); });
}
const OperationDefinition& argMin() {
  return madeOnce([] { return define(OperationType::ARGMIN, compute<false>); });
}

}  // namespace halyard::ops
