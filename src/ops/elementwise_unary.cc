// ABS, EXP, FLOOR, LOG, NEG, RSQRT, SIN and SQRT: mathematical functions of one element.
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "ops/elementwise.h"
#include "ops/operation.h"
#include "ops/type_rows.h"

namespace halyard::ops {
namespace {

// The differences between the operations. `real` is for floats, `integer` wraps around as two's
// complement does, and `quantized` is for quantised tensors.
struct Abs {
  static float real(float x) { return std::fabs(x); }
  static uint32_t integer(uint32_t x) { return x >> 31 != 0 ? 0 - x : x; }
};
struct Exp {
  static float real(float x) { return std::exp(x); }
};
struct Floor {
  static float real(float x) { return std::floor(x); }
};
struct Log {
  static float real(float x) { return std::log(x); }
};
struct Neg {
  static float real(float x) { return -x; }
  static uint32_t integer(uint32_t x) { return 0 - x; }
};
struct Rsqrt {
  static float real(float x) { return 1 / std::sqrt(x); }
  // For an infinite or undefined result, the output takes its highest value.
  static double quantized(double x) {
    return x > 0 ? 1 / std::sqrt(x) : std::numeric_limits<double>::infinity();
  }
};
struct Sin {
  static float real(float x) { return std::sin(x); }
};
struct Sqrt {
  static float real(float x) { return std::sqrt(x); }
};

template <typename Op>
Status compute(OperationContext& context) {
  const OperandType type = context.input(0).type;
  if (type == OperandType::TENSOR_FLOAT32) {
    applyUnary<float, float>(context, [](float x) { return Op::real(x); });
    return okStatus();
  }
  if constexpr (requires { Op::integer(0); }) {
    if (type == OperandType::TENSOR_INT32) {
      applyUnary<uint32_t, uint32_t>(context, [](uint32_t x) { return Op::integer(x); });
      return okStatus();
    }
  }
  if constexpr (requires { Op::quantized(0); }) {
    if (isQuant8Asymm(type)) {
      applyToQuantized(context, [](double x) { return Op::quantized(x); });
      return okStatus();
    }
  }
  return badData("input is {}", operandTypeName(type));
}

OperationDefinition unary(OperationType type, std::vector<TypeRow> rows,
                          Status (*reference)(OperationContext&),
                          Precision precision = Precision::APPROXIMATE) {
  OperationDefinition definition;
  definition.type = type;
  definition.signature.rows = std::move(rows);
  definition.signature.forms = {{"", {typed("input", 0)}, {}}};
  definition.signature.outputs = {typed("output", 0)};
  definition.infer = inferSameShape;
  definition.reference = reference;
  definition.precision = precision;
  return definition;
}

std::vector<TypeRow> floatRows(FeatureLevel since = FeatureLevel::FL3) {
  return singleTypeRows(
      {{OperandType::TENSOR_FLOAT32, since}, {OperandType::TENSOR_FLOAT16, FeatureLevel::FL3}});
}

std::vector<TypeRow> floatAnd(
    std::initializer_list<std::pair<OperandType, FeatureLevel>> otherTypes) {
  std::vector<TypeRow> rows = floatRows();
  for (TypeRow& row : singleTypeRows(otherTypes)) rows.push_back(std::move(row));
  return rows;
}

}  // namespace

const OperationDefinition& abs() {
  return madeOnce([] {
    return unary(OperationType::ABS, floatAnd({{OperandType::TENSOR_INT32, FeatureLevel::FL4}}),
                 compute<Abs>, Precision::ROUNDED);
  });
}

const OperationDefinition& exp() {
  return madeOnce([] { return unary(OperationType::EXP, floatRows(), compute<Exp>); });
}

const OperationDefinition& floor() {
  return madeOnce([] {
    OperationDefinition result = unary(OperationType::FLOOR, floatRows(FeatureLevel::FL1),
                                       compute<Floor>, Precision::ROUNDED);
    result.signature.forms[0].inputs[0].ranks = rankBetween(1, 4);
    result.infer = inferSameShapeToRank4;
    return result;
  });
}

const OperationDefinition& log() {
  return madeOnce([] { return unary(OperationType::LOG, floatRows(), compute<Log>); });
}

const OperationDefinition& neg() {
  return madeOnce([] {
    return unary(OperationType::NEG, floatAnd({{OperandType::TENSOR_INT32, FeatureLevel::FL3}}),
                 compute<Neg>, Precision::ROUNDED);
  });
}

const OperationDefinition& rsqrt() {
  return madeOnce([] {
    return unary(OperationType::RSQRT,
                 floatAnd({{OperandType::TENSOR_QUANT8_ASYMM, FeatureLevel::FL7},
                           {OperandType::TENSOR_QUANT8_ASYMM_SIGNED, FeatureLevel::FL7}}),
                 compute<Rsqrt>);
  });
}

const OperationDefinition& sin() {
  return madeOnce([] { return unary(OperationType::SIN, floatRows(), compute<Sin>); });
}

const OperationDefinition& sqrt() {
  return madeOnce([] { return unary(OperationType::SQRT, floatRows(), compute<Sqrt>); });
}

}  // namespace halyard::ops
