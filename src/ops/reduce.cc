// REDUCE_ALL, REDUCE_ANY, REDUCE_MAX, REDUCE_MIN, REDUCE_PROD and REDUCE_SUM over any set of
// dimensions.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "ops/operation.h"
#include "ops/reduction.h"
#include "ops/type_rows.h"

namespace halyard::ops {
namespace {

// Booleans are any bytes; merging turns them into 0 or 1.
struct AllReducer {
  using State = uint8_t;
  static State identity() { return 1; }
  static State merge(State a, State b) { return static_cast<State>((a != 0) & (b != 0)); }
};
struct AnyReducer {
  using State = uint8_t;
  static State identity() { return 0; }
  static State merge(State a, State b) { return static_cast<State>((a != 0) | (b != 0)); }
};

// The identity is a finite number by definition, and a comparison never prefers a NaN.
template <typename T>
struct MaxReducer {
  using State = T;
  static State identity() { return std::numeric_limits<T>::lowest(); }
  static State merge(State a, State b) { return b > a ? b : a; }
};
template <typename T>
struct MinReducer {
  using State = T;
  static State identity() { return std::numeric_limits<T>::max(); }
  static State merge(State a, State b) { return b < a ? b : a; }
};

// The number significand * 2^exponent. A product of many factors may leave double's range before
// its result returns to float's.
struct ScaledNumber {
  double significand = 1;
  int64_t exponent = 0;

  ScaledNumber() = default;
  explicit ScaledNumber(float x) : significand(static_cast<double>(x)) {}
};
struct ProductReducer {
  using State = ScaledNumber;
  static State identity() { return {}; }
  static State merge(State a, State b) {
    // One factor of zero decides the result.
    if (a.significand == 0 || b.significand == 0) return State(0);
    a.significand *= b.significand;
    a.exponent += b.exponent;
    const double magnitude = std::abs(a.significand);
    if ((magnitude < 0x1p-300 || magnitude > 0x1p300) && std::isfinite(magnitude)) {
      int shift = 0;
      a.significand = std::frexp(a.significand, &shift);
      a.exponent += shift;
    }
    return a;
  }
};

float valueOf(ScaledNumber x) {
  constexpr int64_t kBeyondFloat = 1000;
  const int64_t exponent = std::clamp(x.exponent, -kBeyondFloat, kBeyondFloat);
  return static_cast<float>(std::ldexp(x.significand, static_cast<int>(exponent)));
}

template <typename Reducer>
Status reduceBytes(OperationContext& context) {
  return reduce<Reducer, uint8_t>(context, [](uint8_t x) { return x; });
}

Status computeProduct(OperationContext& context) {
  return reduce<ProductReducer, float>(context, valueOf);
}

Status computeSum(OperationContext& context) {
  return reduce<AddReducer<double>, float>(context, [](double x) { return static_cast<float>(x); });
}

template <template <typename> typename Reducer>
Status computeExtreme(OperationContext& context) {
  const auto same = [](auto x) { return x; };
  switch (context.input(0).type) {
    case OperandType::TENSOR_FLOAT32:
      return reduce<Reducer<float>, float>(context, same);
    case OperandType::TENSOR_QUANT8_ASYMM:
      return reduce<Reducer<uint8_t>, uint8_t>(context, same);
    case OperandType::TENSOR_QUANT8_ASYMM_SIGNED:
      return reduce<Reducer<int8_t>, int8_t>(context, same);
    default:
      return badData("input is {}", operandTypeName(context.input(0).type));
  }
}

Status infer(OperationContext& context) {
  bool keepDims = false;
  HALYARD_RETURN_IF_ERROR(context.read(kKeepDimsInput, &keepDims), "keep_dims");
  return inferReduction(context, keepDims);
}

OperationDefinition define(OperationType type, std::vector<TypeRow> rows,
                           Status (*reference)(OperationContext&)) {
  OperationDefinition definition;
  definition.type = type;
  definition.signature.rows = std::move(rows);
  definition.signature.forms = {{"", reductionInputs(boolean("keep_dims")), {}}};
  definition.signature.outputs = {typed("output", 0)};
  definition.infer = infer;
  definition.reference = reference;
  return definition;
}

std::vector<TypeRow> boolRows() {
  return singleTypeRows({{OperandType::TENSOR_BOOL8, FeatureLevel::FL3}});
}
std::vector<TypeRow> floatRows() {
  return singleTypeRows({{OperandType::TENSOR_FLOAT32, FeatureLevel::FL3},
                         {OperandType::TENSOR_FLOAT16, FeatureLevel::FL3}});
}

}  // namespace

const OperationDefinition& reduceAll() {
  return madeOnce(
      [] { return define(OperationType::REDUCE_ALL, boolRows(), reduceBytes<AllReducer>); });
}
const OperationDefinition& reduceAny() {
  return madeOnce(
      [] { return define(OperationType::REDUCE_ANY, boolRows(), reduceBytes<AnyReducer>); });
}
const OperationDefinition& reduceMax() {
  return madeOnce([] {
    return define(OperationType::REDUCE_MAX, floatAndQuant8Rows(FeatureLevel::FL3),
                  computeExtreme<MaxReducer>);
  });
}
const OperationDefinition& reduceMin() {
  return madeOnce([] {
    return define(OperationType::REDUCE_MIN, floatAndQuant8Rows(FeatureLevel::FL3),
                  computeExtreme<MinReducer>);
  });
}
const OperationDefinition& reduceProd() {
  return madeOnce([] { return define(OperationType::REDUCE_PROD, floatRows(), computeProduct); });
}
const OperationDefinition& reduceSum() {
  return madeOnce([] { return define(OperationType::REDUCE_SUM, floatRows(), computeSum); });
}

}  // namespace halyard::ops
