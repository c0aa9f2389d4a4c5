// ADD, DIV, MUL and SUB: two tensors, broadcast, with a fused activation.
#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "ops/activation.h"
#include "ops/broadcast.h"
#include "ops/fixed_point_sum.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"
#include "ops/requantize.h"
#include "ops/type_rows.h"

namespace halyard::ops {
namespace {

// The differences between the operations. `integer` wraps around, as two's complement does.
struct Add {
  static float real(float a, float b) { return a + b; }
  static uint32_t integer(uint32_t a, uint32_t b) { return a + b; }
};
struct Sub {
  static float real(float a, float b) { return a - b; }
  static uint32_t integer(uint32_t a, uint32_t b) { return a - b; }
};
struct Mul {
  static float real(float a, float b) { return a * b; }
  static uint32_t integer(uint32_t a, uint32_t b) { return a * b; }
};
struct Div {
  static float real(float a, float b) { return a / b; }
  // Rounds down. A divisor of 0 has no defined result and gives 0.
  static uint32_t integer(uint32_t a, uint32_t b) {
    // 64 bits also hold the lowest integer divided by -1.
    const int64_t dividend = static_cast<int32_t>(a);
    const int64_t divisor = static_cast<int32_t>(b);
    if (divisor == 0) return 0;
    const int64_t rest = dividend % divisor;
    const bool truncationRoundsUp = rest != 0 && (rest < 0) != (divisor < 0);
    return static_cast<uint32_t>(dividend / divisor - (truncationRoundsUp ? 1 : 0));
  }
};

constexpr size_t kActivation = 2;

Status checkFuseCode(const OperationContext& context, FuseCode* code) {
  HALYARD_RETURN_IF_ERROR(readFuseCode(context, kActivation, code));
  if (context.input(0).type == OperandType::TENSOR_INT32 && *code != FuseCode::NONE) {
    return opFailed("activation is {}, integer tensors take only 0 (none)",
                    static_cast<int32_t>(*code));
  }
  return okStatus();
}

Status inferArithmetic(OperationContext& context) {
  HALYARD_RETURN_IF_ERROR(checkRank(context.input(0), 1, 4, "input 0"));
  HALYARD_RETURN_IF_ERROR(checkRank(context.input(1), 1, 4, "input 1"));
  FuseCode code = FuseCode::NONE;
  HALYARD_RETURN_IF_ERROR(unlessIncomplete(checkFuseCode(context, &code)));
  return inferBroadcast(context);
}

// (scaleA (a - zeroA) +- scaleB (b - zeroB)) / scaleOut + zeroOut, rounded once and clamped.
template <typename T, typename Op>
void sumQuantized(OperationContext& context, ClampRange<int32_t> range) {
  const Tensor& a = context.input(0);
  const Tensor& b = context.input(1);
  const Tensor& out = context.output(0);
  const int32_t sign = Op::real(0, 1) < 0 ? -1 : 1;
  const float ratioA = a.scale / out.scale;
  const float ratioB = b.scale / out.scale;
  if (FixedPointSum::covers(std::max(ratioA, ratioB))) {
    applyBroadcast<T, T>(context, [range, sum = FixedPointSum(ratioA, ratioB, sign),
                                   zeroA = a.zeroPoint, zeroB = b.zeroPoint,
                                   zeroOut = out.zeroPoint](T x, T y) {
      return static_cast<T>(std::clamp(sum(x - zeroA, y - zeroB) + zeroOut, range.min, range.max));
    });
    return;
  }
  // No sensible model has such ratios. Double represents them exactly.
  applyBroadcast<T, T>(context, [range, scaleA = double{a.scale}, scaleB = sign * double{b.scale},
                                 scaleOut = double{out.scale}, zeroA = a.zeroPoint,
                                 zeroB = b.zeroPoint, zeroOut = out.zeroPoint](T x, T y) {
    const double real = scaleA * (x - zeroA) + scaleB * (y - zeroB);
    return static_cast<T>(quantizeUnits(real / scaleOut, zeroOut, range));
  });
}

// rha((a - zeroA) (b - zeroB) scaleA scaleB / scaleOut) + zeroOut, clamped.
template <typename T>
void multiplyQuantized(OperationContext& context, ClampRange<int32_t> range) {
  const Tensor& a = context.input(0);
  const Tensor& b = context.input(1);
  const Tensor& out = context.output(0);
  const double scale = double{a.scale} * double{b.scale} / double{out.scale};
  applyBroadcast<T, T>(context, [range, scale, zeroA = a.zeroPoint, zeroB = b.zeroPoint,
                                 zeroOut = out.zeroPoint](T x, T y) {
    const int32_t product = (x - zeroA) * (y - zeroB);
    return static_cast<T>(quantizeUnits(product * scale, zeroOut, range));
  });
}

Status unexpectedType(const OperationContext& context) {
  return badData("input 0 is {}", operandTypeName(context.input(0).type));
}

template <typename T, typename Op>
Status computeQuantized(OperationContext& context, FuseCode code) {
  const ClampRange<int32_t> range = activationRange(code, context.output(0));
  if constexpr (std::is_same_v<Op, Div>) {
    return unexpectedType(context);
  } else if constexpr (std::is_same_v<Op, Mul>) {
    multiplyQuantized<T>(context, range);
  } else {
    sumQuantized<T, Op>(context, range);
  }
  return okStatus();
}

template <typename Op>
Status compute(OperationContext& context) {
  FuseCode code = FuseCode::NONE;
  HALYARD_RETURN_IF_ERROR(checkFuseCode(context, &code));
  switch (context.input(0).type) {
    case OperandType::TENSOR_FLOAT32:
      applyBroadcast<float, float>(context, [range = activationRange(code)](float x, float y) {
        return clampTo(Op::real(x, y), range);
      });
      return okStatus();
    case OperandType::TENSOR_INT32:
      applyBroadcast<uint32_t, uint32_t>(context,
                                         [](uint32_t x, uint32_t y) { return Op::integer(x, y); });
      return okStatus();
    case OperandType::TENSOR_QUANT8_ASYMM:
      return computeQuantized<uint8_t, Op>(context, code);
    case OperandType::TENSOR_QUANT8_ASYMM_SIGNED:
      return computeQuantized<int8_t, Op>(context, code);
    default:
      return unexpectedType(context);
  }
}

// The output's scale must be larger than the product of the inputs' scales.
Status checkProductScale(const OperationView& operation, FeatureLevel&) {
  if (!isQuant8Asymm(operation.output(0).type)) return okStatus();
  const float product = operation.input(0).scale * operation.input(1).scale;
  if (operation.output(0).scale > product) return okStatus();
  return badData("output has scale {}, expected more than {}, the product of the inputs' scales",
                 operation.output(0).scale, product);
}

OperationDefinition arithmetic(OperationType type, std::vector<TypeRow> rows,
                               Status (*reference)(OperationContext&)) {
  OperationDefinition definition;
  definition.type = type;
  definition.signature = {
      .rows = std::move(rows),
      .forms = {{"",
                 {typed("a", 0, rankBetween(1, 4)), typed("b", 0, rankBetween(1, 4)),
                  int32("activation")},
                 {}}},
      .outputs = {typed("output", 0)},
  };
  definition.infer = inferArithmetic;
  definition.reference = reference;
  definition.precision = Precision::ROUNDED;
  definition.acceptsZeroSized = true;
  return definition;
}

std::vector<TypeRow> withInt32(std::vector<TypeRow> rows) {
  rows.push_back({FeatureLevel::FL4, {OperandType::TENSOR_INT32}});
  return rows;
}

}  // namespace

const OperationDefinition& add() {
  return madeOnce([] {
    return arithmetic(OperationType::ADD, withInt32(floatAndQuant8Rows(FeatureLevel::FL1)),
                      compute<Add>);
  });
}

const OperationDefinition& div() {
  return madeOnce([] {
    return arithmetic(OperationType::DIV,
                      singleTypeRows({{OperandType::TENSOR_FLOAT32, FeatureLevel::FL2},
                                      {OperandType::TENSOR_FLOAT16, FeatureLevel::FL3},
                                      {OperandType::TENSOR_INT32, FeatureLevel::FL4}}),
                      compute<Div>);
  });
}

const OperationDefinition& mul() {
  return madeOnce([] {
    OperationDefinition result = arithmetic(
        OperationType::MUL, withInt32(floatAndQuant8Rows(FeatureLevel::FL1)), compute<Mul>);
    result.signature.check = checkProductScale;
    return result;
  });
}

const OperationDefinition& sub() {
  return madeOnce([] {
    return arithmetic(OperationType::SUB,
                      singleTypeRows({{OperandType::TENSOR_FLOAT32, FeatureLevel::FL2},
                                      {OperandType::TENSOR_FLOAT16, FeatureLevel::FL3},
                                      {OperandType::TENSOR_QUANT8_ASYMM, FeatureLevel::FL3},
                                      {OperandType::TENSOR_QUANT8_ASYMM_SIGNED, FeatureLevel::FL4},
                                      {OperandType::TENSOR_INT32, FeatureLevel::FL4}}),
                      compute<Sub>);
  });
}

}  // namespace halyard::ops
