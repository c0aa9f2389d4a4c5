// CAST: the same numbers in another type. Quantisation parameters do not count.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "ops/elementwise.h"
#include "ops/operation.h"

namespace halyard::ops {
namespace {

// Saturates and then drops the fraction; NaN becomes 0.
template <typename Out, typename In>
Out convert(In x) {
  if constexpr (std::is_floating_point_v<Out> || std::is_same_v<In, Out>) {
    return static_cast<Out>(x);
  } else if constexpr (std::is_floating_point_v<In>) {
    // The lowest value is a power of two (or 0), so floating point represents it exactly. The
    // highest value rounds up to a power of two, from which on a conversion would be undefined.
    constexpr In kLow = static_cast<In>(std::numeric_limits<Out>::min());
    constexpr In kHigh = static_cast<In>(std::numeric_limits<Out>::max());
    if (x >= kHigh) return std::numeric_limits<Out>::max();
    if (x > kLow) return static_cast<Out>(x);
    return x <= kLow ? std::numeric_limits<Out>::min() : Out{0};
  } else {
    constexpr auto kLow = static_cast<int64_t>(std::numeric_limits<Out>::min());
    constexpr auto kHigh = static_cast<int64_t>(std::numeric_limits<Out>::max());
    return static_cast<Out>(std::clamp(static_cast<int64_t>(x), kLow, kHigh));
  }
}

template <typename Out, typename In>
void convertAll(OperationContext& context) {
  applyUnary<In, Out>(context, [](In x) { return convert<Out>(x); });
}

template <typename In>
Status convertFrom(OperationContext& context) {
  switch (context.output(0).type) {
    case OperandType::TENSOR_FLOAT32:
      convertAll<float, In>(context);
      return okStatus();
    case OperandType::TENSOR_INT32:
      convertAll<int32_t, In>(context);
      return okStatus();
    case OperandType::TENSOR_QUANT8_ASYMM:
      convertAll<uint8_t, In>(context);
      return okStatus();
    default:
      return badData("output is {}", operandTypeName(context.output(0).type));
  }
}

Status compute(OperationContext& context) {
  const Tensor& input = context.input(0);
  Tensor& output = context.output(0);
  switch (input.type) {
    case OperandType::TENSOR_FLOAT32:
      return convertFrom<float>(context);
    case OperandType::TENSOR_INT32:
      return convertFrom<int32_t>(context);
    case OperandType::TENSOR_QUANT8_ASYMM:
      return convertFrom<uint8_t>(context);
    case OperandType::TENSOR_BOOL8:
      applyUnary<uint8_t, uint8_t>(context, [](uint8_t x) -> uint8_t { return x != 0 ? 1 : 0; });
      return okStatus();
    default:
      std::memcpy(output.data, input.data, input.elementCount() * elementSize(input.type));
      return okStatus();
  }
}

// Declared shapes that contradict each other make the model invalid.
Status checkDeclaredShapes(const OperationView& operation, FeatureLevel&) {
  const Shape& input = operation.input(0).dimensions;
  const Shape& output = operation.output(0).dimensions;
  if (input.empty() || output.empty()) return okStatus();
  const bool fits = std::equal(input.begin(), input.end(), output.begin(), output.end(),
                               [](uint32_t a, uint32_t b) { return a == b || a == 0 || b == 0; });
  if (fits) return okStatus();
  return badData("output has the shape {}, expected that of the input, {}", shapeText(output),
                 shapeText(input));
}

OperationDefinition define() {
  using enum FeatureLevel;
  using enum OperandType;
  OperationDefinition definition;
  definition.type = OperationType::CAST;
  for (OperandType from : {TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_INT32, TENSOR_QUANT8_ASYMM}) {
    for (OperandType to : {TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_INT32, TENSOR_QUANT8_ASYMM}) {
      definition.signature.rows.push_back({FL3, {from, to}});
    }
  }
  for (OperandType same : {TENSOR_BOOL8, TENSOR_QUANT16_ASYMM, TENSOR_QUANT16_SYMM,
                           TENSOR_QUANT8_ASYMM_SIGNED, TENSOR_QUANT8_SYMM}) {
    definition.signature.rows.push_back({FL4, {same, same}});
  }
  definition.signature.forms = {{"", {typed("input", 0)}, {}}};
  definition.signature.outputs = {typed("output", 1)};
  definition.signature.check = checkDeclaredShapes;
  definition.infer = inferSameShape;
  definition.reference = compute;
  definition.precision = Precision::ROUNDED;
  return definition;
}

}  // namespace

const OperationDefinition& cast() {
  return madeOnce([] { return define(); });
}

}  // namespace halyard::ops
