// ATAN2, FLOOR_MOD, TRUNCATED_DIV, BITWISE_XOR, RIGHT_SHIFT and LEFT_SHIFT of the extension
// halyard.tflite: functions of two elements, broadcast.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "ops/broadcast.h"
#include "ops/operation.h"
#include "ops/type_rows.h"

namespace halyard::ops {
namespace {

Status computeAtan2(OperationContext& context) {
  applyBroadcast<float, float>(context, [](float y, float x) { return std::atan2(y, x); });
  return okStatus();
}

// A remainder has the sign of the divisor. As for DIV, a quotient by 0 is 0.
int32_t remainderOf(int32_t x, int32_t y) {
  if (y == 0) return x;
  const auto rest = static_cast<int32_t>(int64_t{x} % y);
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

float remainderOf(float x, float y) {
  const float rest = std::fmod(x, y);
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

Status computeFloorMod(OperationContext& context) {
  if (context.input(0).type == OperandType::TENSOR_INT32) {
    applyBroadcast<int32_t, int32_t>(context,
                                     [](int32_t x, int32_t y) { return remainderOf(x, y); });
  } else {
    applyBroadcast<float, float>(context, [](float x, float y) { return remainderOf(x, y); });
  }
  return okStatus();
}

// The one quotient that needs 33 bits wraps around.
Status computeTruncatedDiv(OperationContext& context) {
  applyBroadcast<int32_t, int32_t>(context, [](int32_t x, int32_t y) {
    return y == 0 ? 0 : static_cast<int32_t>(int64_t{x} / y);
  });
  return okStatus();
}

Status computeXor(OperationContext& context) {
  applyBroadcast<int32_t, int32_t>(context, [](int32_t x, int32_t y) { return x ^ y; });
  return okStatus();
}

Status computeRightShift(OperationContext& context) {
  applyBroadcast<int32_t, int32_t>(
      context, [](int32_t x, int32_t by) { return x >> std::clamp(by, 0, 31); });
  return okStatus();
}

// Bits that are moved out are lost.
Status computeLeftShift(OperationContext& context) {
  applyBroadcast<int32_t, int32_t>(context, [](int32_t x, int32_t by) {
    return by < 0 || by > 31 ? 0 : static_cast<int32_t>(static_cast<uint32_t>(x) << by);
  });
  return okStatus();
}

OperationDefinition binary(OperationType type, std::vector<TypeRow> rows,
                           Status (*reference)(OperationContext&), Precision precision) {
  OperationDefinition definition;
  definition.type = type;
  definition.signature.rows = std::move(rows);
  definition.signature.forms = {{"", {typed("a", 0), typed("b", 0)}, {}}};
  definition.signature.outputs = {typed("output", 0)};
  definition.infer = inferBroadcast;
  definition.reference = reference;
  definition.precision = precision;
  return definition;
}

std::vector<TypeRow> intRows() {
  return singleTypeRows({{OperandType::TENSOR_INT32, FeatureLevel::FL3}});
}

std::vector<TypeRow> floatRows() {
  return singleTypeRows({{OperandType::TENSOR_FLOAT32, FeatureLevel::FL3},
                         {OperandType::TENSOR_FLOAT16, FeatureLevel::FL3}});
}

}  // namespace

const OperationDefinition& atan2Operation() {
  return madeOnce([] {
    return binary(OperationType::ATAN2, floatRows(), computeAtan2, Precision::APPROXIMATE);
  });
}

const OperationDefinition& floorMod() {
  return madeOnce([] {
    std::vector<TypeRow> rows = floatRows();
    rows.push_back(intRows()[0]);
    return binary(OperationType::FLOOR_MOD, std::move(rows), computeFloorMod, Precision::ROUNDED);
  });
}

const OperationDefinition& truncatedDiv() {
  return madeOnce([] {
    return binary(OperationType::TRUNCATED_DIV, intRows(), computeTruncatedDiv, Precision::EXACT);
  });
}

const OperationDefinition& bitwiseXor() {
  return madeOnce(
      [] { return binary(OperationType::BITWISE_XOR, intRows(), computeXor, Precision::EXACT); });
}

const OperationDefinition& rightShift() {
  return madeOnce([] {
    return binary(OperationType::RIGHT_SHIFT, intRows(), computeRightShift, Precision::EXACT);
  });
}

const OperationDefinition& leftShift() {
  return madeOnce([] {
    return binary(OperationType::LEFT_SHIFT, intRows(), computeLeftShift, Precision::EXACT);
  });
}

}  // namespace halyard::ops
