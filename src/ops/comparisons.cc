// EQUAL, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL and NOT_EQUAL of two tensors, broadcast.
#include <cstdint>
#include <functional>

#include "ops/broadcast.h"
#include "ops/operation.h"
#include "ops/type_rows.h"

namespace halyard::ops {
namespace {

// Real values are compared in single precision, as after a DEQUANTIZE, because the inputs may have
// different parameters.
template <typename T, typename Compare>
void compareQuantized(OperationContext& context) {
  const Tensor& a = context.input(0);
  const Tensor& b = context.input(1);
  applyBroadcast<T, uint8_t>(context,
                             [scaleA = a.scale, scaleB = b.scale, zeroA = a.zeroPoint,
                              zeroB = b.zeroPoint](T x, T y) -> uint8_t {
                               return Compare{}(scaleA * static_cast<float>(x - zeroA),
                                                scaleB * static_cast<float>(y - zeroB))
                                          ? 1
                                          : 0;
                             });
}

template <typename T, typename Compare>
void comparePlain(OperationContext& context) {
  applyBroadcast<T, uint8_t>(context, [](T x, T y) -> uint8_t { return Compare{}(x, y) ? 1 : 0; });
}

template <typename Compare>
Status compute(OperationContext& context) {
  switch (context.input(0).type) {
    case OperandType::TENSOR_BOOL8:
      // Any byte except 0 is true.
      applyBroadcast<uint8_t, uint8_t>(context, [](uint8_t x, uint8_t y) -> uint8_t {
        return Compare{}(x != 0 ? 1 : 0, y != 0 ? 1 : 0) ? 1 : 0;
      });
      return okStatus();
    case OperandType::TENSOR_FLOAT32:
      comparePlain<float, Compare>(context);
      return okStatus();
    case OperandType::TENSOR_INT32:
      comparePlain<int32_t, Compare>(context);
      return okStatus();
    case OperandType::TENSOR_QUANT8_ASYMM:
      compareQuantized<uint8_t, Compare>(context);
      return okStatus();
    case OperandType::TENSOR_QUANT8_ASYMM_SIGNED:
      compareQuantized<int8_t, Compare>(context);
      return okStatus();
    default:
      return badData("input 0 is {}", operandTypeName(context.input(0).type));
  }
}

OperationDefinition comparison(OperationType type, Status (*reference)(OperationContext&)) {
  OperationDefinition definition;
  definition.type = type;
  definition.signature.rows = floatInt32AndQuant8Rows(FeatureLevel::FL3);
  definition.signature.rows.push_back({FeatureLevel::FL3, {OperandType::TENSOR_BOOL8}});
  definition.signature.forms = {{"", {typed("a", 0), typed("b", 0)}, {}}};
  definition.signature.outputs = {fixed("output", OperandType::TENSOR_BOOL8)};
  definition.infer = inferBroadcast;
  definition.reference = reference;
  definition.precision = Precision::EXACT;
  return definition;
}

}  // namespace

const OperationDefinition& equal() {
  return madeOnce([] { return comparison(OperationType::EQUAL, compute<std::equal_to<>>); });
}

const OperationDefinition& greater() {
  return madeOnce([] { return comparison(OperationType::GREATER, compute<std::greater<>>); });
}

const OperationDefinition& greaterEqual() {
  return madeOnce(
      [] { return comparison(OperationType::GREATER_EQUAL, compute<std::greater_equal<>>); });
}

const OperationDefinition& less() {
  return madeOnce([] { return comparison(OperationType::LESS, compute<std::less<>>); });
}

const OperationDefinition& lessEqual() {
  return madeOnce([] { return comparison(OperationType::LESS_EQUAL, compute<std::less_equal<>>); });
}

const OperationDefinition& notEqual() {
  return madeOnce(
      [] { return comparison(OperationType::NOT_EQUAL, compute<std::not_equal_to<>>); });
}

}  // namespace halyard::ops
