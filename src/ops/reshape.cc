// RESHAPE: the same elements in the same order under other dimensions.
#include <fmt/ranges.h>

#include <cstdint>
#include <cstring>
#include <span>

#include "ops/operand_checks.h"
#include "ops/operation.h"
#include "ops/type_rows.h"

namespace halyard::ops {
namespace {

// Fills in the one -1 that a target shape may have.
Status resolveTarget(const Tensor& input, std::span<const int32_t> target, Shape* shape) {
  if (target.empty()) return opFailed("the target shape is empty");
  const uint64_t count = input.elementCount();
  constexpr size_t kNone = SIZE_MAX;
  size_t inferred = kNone;
  uint64_t product = 1;
  shape->assign(target.size(), 0);
  for (size_t i = 0; i < target.size(); ++i) {
    if (target[i] == -1) {
      if (inferred != kNone) {
        return opFailed("the target shape [{}] has more than one -1", fmt::join(target, ","));
      }
      inferred = i;
      continue;
    }
    if (target[i] < 1) {
      return opFailed("dimension {} of the target shape is {}, expected at least 1, or -1", i,
                      target[i]);
    }
    (*shape)[i] = static_cast<uint32_t>(target[i]);
    product *= (*shape)[i];
    if (product > count) break;  // an error below, and no overflow here
  }
  const bool fits = inferred == kNone ? product == count : product <= count && count % product == 0;
  if (!fits) {
    return opFailed("the target shape [{}] does not fit the {} elements of the input {}",
                    fmt::join(target, ","), count, realShapeText(input.dims));
  }
  if (inferred != kNone) {
    const uint64_t rest = count / product;
    if (rest > UINT32_MAX) return opFailed("dimension {} would be {}", inferred, rest);
    (*shape)[inferred] = static_cast<uint32_t>(rest);
  }
  return okStatus();
}

Status infer(OperationContext& context) {
  HALYARD_RETURN_IF_ERROR(checkRank(context.input(0), 1, 4, "input"));
  HALYARD_RETURN_IF_ERROR(checkSameQuantization(context.input(0), context.output(0)));
  std::span<const int32_t> target;
  HALYARD_RETURN_IF_ERROR(context.readInts(1, &target), "target shape");
  return resolveTarget(context.input(0), target, &context.output(0).dims);
}

Status copy(OperationContext& context) {
  Tensor& output = context.output(0);
  std::memcpy(output.data, context.input(0).data, output.elementCount() * elementSize(output.type));
  return okStatus();
}

OperationDefinition define() {
  std::vector<TypeRow> rows = floatAndQuant8Rows(FeatureLevel::FL1);
  rows.push_back({FeatureLevel::FL6, {OperandType::TENSOR_INT32}});
  OperationDefinition definition;
  definition.type = OperationType::RESHAPE;
  definition.signature = {
      .rows = std::move(rows),
      .forms = {{"",
                 {typed("input", 0, rankBetween(1, 4)), fixed("shape", OperandType::TENSOR_INT32)},
                 {}}},
      .outputs = {typed("output", 0)},
  };
  definition.infer = infer;
  definition.reference = copy;
  definition.float16AsFloat32 = false;
  return definition;
}

}  // namespace

const OperationDefinition& reshape() {
  static const OperationDefinition definition = define();
  return definition;
}

}  // namespace halyard::ops
