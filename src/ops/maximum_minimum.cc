// MAXIMUM and MINIMUM of two tensors, broadcast.
#include <cmath>
#include <cstdint>
#include <functional>
#include <type_traits>

#include "ops/broadcast.h"
#include "ops/elementwise.h"
#include "ops/operation.h"
#include "ops/requantize.h"
#include "ops/type_rows.h"

namespace halyard::ops {
namespace {

// `Wins`: returns whether the first element is the result. NaN always wins.
template <typename T, typename Wins>
T pick(T x, T y) {
  if constexpr (std::is_floating_point_v<T>) {
    return Wins{}(x, y) || std::isnan(x) ? x : y;
  } else {
    return Wins{}(x, y) ? x : y;
  }
}

template <typename T, typename Wins>
void computePlain(OperationContext& context) {
  applyBroadcast<T, T>(context, [](T x, T y) { return pick<T, Wins>(x, y); });
}

// Both inputs are first converted to the output's parameters.
template <typename T, typename Wins>
void computeQuantized(OperationContext& context) {
  const Tensor& output = context.output(0);
  const ByteTable tableA = requantizeTable(context.input(0), output);
  const ByteTable tableB = requantizeTable(context.input(1), output);
  // The tables outlive the loop, and pointers are cheaper to pass than tables.
  applyBroadcast<T, T>(context, [a = tableA.data(), b = tableB.data()](T x, T y) {
    return pick<T, Wins>(static_cast<T>(a[static_cast<uint8_t>(x)]),
                         static_cast<T>(b[static_cast<uint8_t>(y)]));
  });
}

template <typename Wins>
Status compute(OperationContext& context) {
  switch (context.input(0).type) {
    case OperandType::TENSOR_FLOAT32:
      computePlain<float, Wins>(context);
      return okStatus();
    case OperandType::TENSOR_INT32:
      computePlain<int32_t, Wins>(context);
      return okStatus();
    case OperandType::TENSOR_QUANT8_ASYMM:
      computeQuantized<uint8_t, Wins>(context);
      return okStatus();
    case OperandType::TENSOR_QUANT8_ASYMM_SIGNED:
      computeQuantized<int8_t, Wins>(context);
      return okStatus();
    default:
      return badData("input 0 is {}", operandTypeName(context.input(0).type));
  }
}

OperationDefinition extremum(OperationType type, Status (*reference)(OperationContext&)) {
  OperationDefinition definition;
  definition.type = type;
  definition.signature.rows = floatInt32AndQuant8Rows(FeatureLevel::FL3);
  definition.signature.forms = {{"", {typed("a", 0), typed("b", 0)}, {}}};
  definition.signature.outputs = {typed("output", 0)};
  definition.infer = inferBroadcast;
  definition.reference = reference;
  definition.precision = Precision::ROUNDED;
  return definition;
}

}  // namespace

const OperationDefinition& maximum() {
  return madeOnce([] { return extremum(OperationType::MAXIMUM, compute<std::greater<>>); });
}

const OperationDefinition& minimum() {
  return madeOnce([] { return extremum(OperationType::MINIMUM, compute<std::less<>>); });
}

}  // namespace halyard::ops
