// REVERSE and CHANNEL_SHUFFLE: change the order of the elements along one axis.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

#include "ops/axis.h"
#include "ops/data_movement.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"
#include "ops/type_rows.h"

namespace halyard::ops {
namespace {

constexpr size_t kMaxReversedRank = 8;

Status checkReversedAxis(int32_t axis, size_t rank) {
  if (axis >= 0 && static_cast<size_t>(axis) < rank) return okStatus();
  return opFailed("axis is {}, expected 0 to {}", axis, rank - 1);
}

Status readReversedAxis(const OperationContext& context, size_t* axis) {
  std::span<const int32_t> values;
  HALYARD_RETURN_IF_ERROR(readIntsOfShape(context, 1, {1}, "axis", &values));
  HALYARD_RETURN_IF_ERROR(checkReversedAxis(values[0], context.input(0).rank()));
  *axis = static_cast<size_t>(values[0]);
  return okStatus();
}

Status inferReverse(OperationContext& context) {
  const Tensor& input = context.input(0);
  HALYARD_RETURN_IF_ERROR(checkRank(input, 1, kMaxReversedRank, "input"));
  HALYARD_RETURN_IF_ERROR(checkSameQuantization(input, context.output(0)));
  size_t axis = 0;
  HALYARD_RETURN_IF_ERROR(unlessIncomplete(readReversedAxis(context, &axis)));
  context.output(0).dims = input.dims;
  return okStatus();
}

Status computeReverse(OperationContext& context) {
  size_t axis = 0;
  HALYARD_RETURN_IF_ERROR(readReversedAxis(context, &axis));
  const AxisView view = axisView(context.input(0).dims, axis);
  const auto inner = static_cast<ptrdiff_t>(view.inner);
  const ptrdiff_t whole = static_cast<ptrdiff_t>(view.extent) * inner;
  copyElements(context.services(), context.input(0), (view.extent - 1) * view.inner,
               context.output(0), 0,
               {{view.outer, whole, whole}, {view.extent, -inner, inner}, {view.inner, 1, 1}});
  return okStatus();
}

struct Groups {
  size_t count = 1;
  size_t axis = 0;
};

Status readGroups(const OperationContext& context, Groups* groups) {
  const Shape& dims = context.input(0).dims;
  int32_t axis = 0;
  HALYARD_RETURN_IF_ERROR(context.read(2, &axis), "axis");
  HALYARD_RETURN_IF_ERROR(resolveAxis(axis, dims.size(), &groups->axis));
  int32_t count = 0;
  HALYARD_RETURN_IF_ERROR(context.read(1, &count), "number of groups");
  if (count < 1) return opFailed("number of groups is {}, expected 1 or more", count);
  groups->count = static_cast<size_t>(count);
  if (dims[groups->axis] % groups->count != 0) {
    return opFailed("dimension {} of the input {} does not split into {} equal groups",
                    groups->axis, realShapeText(dims), count);
  }
  return okStatus();
}

Status inferShuffle(OperationContext& context) {
  const Tensor& input = context.input(0);
  HALYARD_RETURN_IF_ERROR(checkRank(input, 1, 4, "input"));
  HALYARD_RETURN_IF_ERROR(checkSameQuantization(input, context.output(0)));
  Groups groups;
  HALYARD_RETURN_IF_ERROR(unlessIncomplete(readGroups(context, &groups)));
  context.output(0).dims = input.dims;
  return okStatus();
}

Status computeShuffle(OperationContext& context) {
  Groups groups;
  HALYARD_RETURN_IF_ERROR(readGroups(context, &groups));
  const AxisView view = axisView(context.input(0).dims, groups.axis);
  const size_t members = view.extent / groups.count;
  const auto inner = static_cast<ptrdiff_t>(view.inner);
  const ptrdiff_t whole = static_cast<ptrdiff_t>(view.extent) * inner;
  copyElements(context.services(), context.input(0), 0, context.output(0), 0,
               {{view.outer, whole, whole},
                {members, inner, static_cast<ptrdiff_t>(groups.count) * inner},
                {groups.count, static_cast<ptrdiff_t>(members) * inner, inner},
                {view.inner, 1, 1}});
  return okStatus();
}

Status checkReversed(const OperationView& operation, FeatureLevel& level) {
  HALYARD_RETURN_IF_ERROR(checkOutputLikeInput(operation, level));
  const size_t rank =
      std::max(operation.input(0).dimensions.size(), operation.output(0).dimensions.size());
  if (rank > kMaxReversedRank) {
    return badData("output has rank {} {}, expected rank 1 to {}", rank,
                   shapeText(operation.output(0).dimensions), kMaxReversedRank);
  }
  const std::optional<int32_t> axis = operation.constantInt(1);
  if (rank == 0 || !axis) return okStatus();
  return checkReversedAxis(*axis, rank).withCode(ResultCode::BAD_DATA);
}

Signature reverseSignature() {
  return {
      .rows = floatInt32AndQuant8Rows(FeatureLevel::FL7),
      .forms = {{"",
                 {typed("input", 0, rankBetween(1, kMaxReversedRank)),
                  fixed("axis", OperandType::TENSOR_INT32, rank(1))},
                 {}}},
      .outputs = {typed("output", 0, rankBetween(1, kMaxReversedRank))},
      .check = checkReversed,
  };
}

Signature shuffleSignature() {
  return {
      .rows = floatAndQuant8Rows(FeatureLevel::FL3),
      .forms = {{"",
                 {typed("input", 0, rankBetween(1, 4)), int32("number of groups"), int32("axis")},
                 {}}},
      .outputs = {typed("output", 0, rankBetween(1, 4))},
  };
}

}  // namespace

const OperationDefinition& reverse() {
  return madeOnce([] {
    return OperationDefinition{
        OperationType::REVERSE,     reverseSignature(),        inferReverse, computeReverse,
        /*acceptsZeroSized=*/false, /*float16AsFloat32=*/false};
  });
}

const OperationDefinition& channelShuffle() {
  return madeOnce([] {
    return OperationDefinition{
        OperationType::CHANNEL_SHUFFLE, shuffleSignature(),        inferShuffle, computeShuffle,
        /*acceptsZeroSized=*/false,     /*float16AsFloat32=*/false};
  });
}

}  // namespace halyard::ops
