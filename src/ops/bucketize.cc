// BUCKETIZE of the extension halyard.tflite: for each element, the number of boundaries that it
// reaches.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "ops/elementwise.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"
#include "ops/type_rows.h"

namespace halyard::ops {
namespace {

constexpr size_t kBoundaries = 1;

Status infer(OperationContext& context) {
  HALYARD_RETURN_IF_ERROR(checkRank(context.input(kBoundaries), 1, 1, "input 1 (boundaries)"));
  return inferSameShape(context);
}

template <typename T>
void count(OperationContext& context) {
  const float* const first = context.input(kBoundaries).as<float>();
  const float* const last = first + context.input(kBoundaries).elementCount();
  applyUnary<T, int32_t>(context, [first, last](T x) {
    return static_cast<int32_t>(std::upper_bound(first, last, static_cast<float>(x)) - first);
  });
}

Status compute(OperationContext& context) {
  const float* const first = context.input(kBoundaries).as<float>();
  const size_t size = context.input(kBoundaries).elementCount();
  const auto falls = [](float a, float b) { return !(a <= b); };
  const float* const bad = std::adjacent_find(first, first + size, falls);
  if (bad != first + size) {
    return opFailed("boundary {} is {}, expected at most the next, {}", bad - first, bad[0],
                    bad[1]);
  }
  if (context.input(0).type == OperandType::TENSOR_INT32) {
    count<int32_t>(context);
  } else {
    count<float>(context);
  }
  return okStatus();
}

OperationDefinition define() {
  OperationDefinition definition;
  definition.type = OperationType::BUCKETIZE;
  definition.signature.rows = singleTypeRows({{OperandType::TENSOR_FLOAT32, FeatureLevel::FL3},
                                              {OperandType::TENSOR_INT32, FeatureLevel::FL3}});
  definition.signature.forms = {
      {"", {typed("input", 0), fixed("boundaries", OperandType::TENSOR_FLOAT32)}, {}}};
  definition.signature.outputs = {fixed("output", OperandType::TENSOR_INT32)};
  definition.infer = infer;
  definition.reference = compute;
  definition.precision = Precision::EXACT;
  return definition;
}

}  // namespace

const OperationDefinition& bucketize() {
  return madeOnce([] { return define(); });
}

}  // namespace halyard::ops
