// SPLIT and PACK: split one tensor into equal parts along an axis, and stack tensors along a new
// axis.
#include <cstdint>
#include <optional>
#include <string_view>

#include "ops/axis.h"
#include "ops/data_movement.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"
#include "ops/type_rows.h"

namespace halyard::ops {
namespace {

Status readSplitAxis(const OperationContext& context, size_t* axis) {
  int32_t value = 0;
  HALYARD_RETURN_IF_ERROR(context.read(1, &value), "axis");
  return resolveAxis(value, context.input(0).rank(), axis);
}

Status inferSplit(OperationContext& context) {
  const Tensor& input = context.input(0);
  size_t axis = 0;
  HALYARD_RETURN_IF_ERROR(readSplitAxis(context, &axis));
  int32_t splits = 0;
  HALYARD_RETURN_IF_ERROR(context.read(2, &splits), "number of splits");
  if (splits < 1) return opFailed("number of splits is {}, expected 1 or more", splits);
  if (static_cast<size_t>(splits) != context.outputCount()) {
    return opFailed("number of splits is {}, expected that of the outputs, {}", splits,
                    context.outputCount());
  }
  const auto parts = static_cast<uint32_t>(splits);
  if (input.dims[axis] % parts != 0) {
    return opFailed("dimension {} of the input {} does not split into {} equal parts", axis,
                    realShapeText(input.dims), parts);
  }
  for (size_t i = 0; i < context.outputCount(); ++i) {
    Tensor& output = context.output(i);
    HALYARD_RETURN_IF_ERROR(checkSameQuantization(input, output), "output {}", i);
    output.dims = input.dims;
    output.dims[axis] /= parts;
  }
  return okStatus();
}

Status computeSplit(OperationContext& context) {
  size_t axis = 0;
  HALYARD_RETURN_IF_ERROR(readSplitAxis(context, &axis));
  const AxisView view = axisView(context.input(0).dims, axis);
  const size_t whole = view.extent * view.inner;
  const size_t part = whole / context.outputCount();
  for (size_t i = 0; i < context.outputCount(); ++i) {
    copyElements(
        context.services(), context.input(0), i * part, context.output(i), 0,
        {{view.outer, static_cast<ptrdiff_t>(whole), static_cast<ptrdiff_t>(part)}, {part, 1, 1}});
  }
  return okStatus();
}

Status checkOutputCount(const OperationView& operation, FeatureLevel&) {
  const std::optional<int32_t> splits = operation.constantInt(2);
  if (!splits || (*splits >= 0 && static_cast<size_t>(*splits) == operation.outputCount())) {
    return okStatus();
  }
  return badData("has {} outputs, expected the number of splits, {}", operation.outputCount(),
                 *splits);
}

Signature splitSignature() {
  return {
      .rows = floatInt32AndQuant8Rows(FeatureLevel::FL3),
      .forms = {{"", {typed("input", 0), int32("axis"), int32("number of splits")}, {}}},
      .outputs = {typed("output", 0)},
      .repeatedOutput = 0,
      .check = checkOutputCount,
  };
}

size_t packedCount(const OperationContext& context) { return context.inputCount() - 1; }

// `rank`: the rank of the packed tensors.
Status checkPackAxis(int32_t axis, size_t rank) {
  if (axis >= 0 && static_cast<size_t>(axis) <= rank) return okStatus();
  return opFailed("axis is {}, expected 0 to {}", axis, rank);
}

Status readPackAxis(const OperationContext& context, size_t rank, size_t* axis) {
  int32_t value = 0;
  HALYARD_RETURN_IF_ERROR(context.read(0, &value), "axis");
  HALYARD_RETURN_IF_ERROR(checkPackAxis(value, rank));
  *axis = static_cast<size_t>(value);
  return okStatus();
}

Status inferPack(OperationContext& context) {
  if (context.inputCount() < 2) return opFailed("there is no tensor to pack");
  const Tensor& first = context.input(1);
  for (size_t i = 1; i < context.inputCount(); ++i) {
    const Tensor& input = context.input(i);
    if (input.dims != first.dims) {
      return opFailed("input {} is {}, expected the dimensions of input 1, {}", i,
                      realShapeText(input.dims), realShapeText(first.dims));
    }
    HALYARD_RETURN_IF_ERROR(checkSameQuantization(input, context.output(0)), "input {}", i);
  }
  size_t axis = 0;
  HALYARD_RETURN_IF_ERROR(readPackAxis(context, first.rank(), &axis));
  Shape result = first.dims;
  result.insert(result.begin() + static_cast<ptrdiff_t>(axis),
                static_cast<uint32_t>(packedCount(context)));
  context.output(0).dims = std::move(result);
  return okStatus();
}

Status computePack(OperationContext& context) {
  Tensor& output = context.output(0);
  size_t axis = 0;
  HALYARD_RETURN_IF_ERROR(readPackAxis(context, output.rank() - 1, &axis));
  const AxisView view = axisView(output.dims, axis);
  for (size_t i = 0; i < packedCount(context); ++i) {
    copyElements(context.services(), context.input(1 + i), 0, output, i * view.inner,
                 {{view.outer, static_cast<ptrdiff_t>(view.inner),
                   static_cast<ptrdiff_t>(view.extent * view.inner)},
                  {view.inner, 1, 1}});
  }
  return okStatus();
}

// Returns the rank of the packed tensors; 0 while it is not known.
Result<size_t> packedRank(const OperationView& operation) {
  const Shape& output = operation.output(0).dimensions;
  size_t rank = output.empty() ? 0 : output.size() - 1;
  std::string_view source = "one less than that of the output";
  if (output.size() == 1) {
    return badData("output has rank 1 {}, expected one more than that of the inputs",
                   shapeText(output));
  }
  for (size_t i = 1; i < operation.inputCount(); ++i) {
    const Shape& input = operation.input(i).dimensions;
    if (input.empty()) continue;
    if (rank == 0) {
      rank = input.size();
      source = "that of the others";
    }
    if (input.size() == rank) continue;
    return badData("input {} has rank {} {}, expected {}, {}", i, input.size(), shapeText(input),
                   source, rank);
  }
  return rank;
}

Status checkPacked(const OperationView& operation, FeatureLevel&) {
  for (size_t i = 1; i < operation.inputCount(); ++i) {
    const Status status = checkSameQuantization(operation.input(i), operation.output(0));
    HALYARD_RETURN_IF_ERROR(status.withCode(ResultCode::BAD_DATA), "input {}", i);
  }
  HALYARD_ASSIGN_OR_RETURN(const size_t rank, packedRank(operation));
  const std::optional<int32_t> axis = operation.constantInt(0);
  if (rank == 0 || !axis) return okStatus();
  return checkPackAxis(*axis, rank).withCode(ResultCode::BAD_DATA);
}

Signature packSignature() {
  return {
      .rows = floatInt32AndQuant8Rows(FeatureLevel::FL6),
      .forms =
          {{.name = "", .inputs = {int32("axis"), typed("input", 0)}, .counts = {}, .repeated = 1}},
      .outputs = {typed("output", 0)},
      .check = checkPacked,
  };
}

}  // namespace

const OperationDefinition& split() {
  return madeOnce([] {
    return OperationDefinition{
        OperationType::SPLIT,       splitSignature(),          inferSplit, computeSplit,
        /*acceptsZeroSized=*/false, /*float16AsFloat32=*/false};
  });
}

const OperationDefinition& pack() {
  return madeOnce([] {
    return OperationDefinition{
        OperationType::PACK,        packSignature(),           inferPack, computePack,
        /*acceptsZeroSized=*/false, /*float16AsFloat32=*/false};
  });
}

}  // namespace halyard::ops
