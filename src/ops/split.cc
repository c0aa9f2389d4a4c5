// SPLIT and PACK: one tensor to equal parts along an axis, and tensors to one with an axis more.
#include <cstdint>
#include <cstring>
#include <optional>

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

// The value of a scalar that is a constant in the model itself.
std::optional<int32_t> constantValue(const Model& model, const Operand& operand) {
  const DataLocation& at = operand.location;
  int32_t value = 0;
  if (operand.lifetime != Lifetime::CONSTANT_COPY || at.length != sizeof(value) ||
      uint64_t{at.offset} + at.length > model.operandValues.size()) {
    return std::nullopt;
  }
  std::memcpy(&value, model.operandValues.data() + at.offset, sizeof(value));
  return value;
}

Status checkOutputCount(const OperationView& operation, FeatureLevel&) {
  const std::optional<int32_t> splits = constantValue(operation.model(), operation.input(2));
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

Status readPackAxis(const OperationContext& context, size_t rank, size_t* axis) {
  int32_t value = 0;
  HALYARD_RETURN_IF_ERROR(context.read(0, &value), "axis");
  if (value < 0 || static_cast<size_t>(value) > rank) {
    return opFailed("axis is {}, expected 0 to {}", value, rank);
  }
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

Status checkPackedQuantization(const OperationView& operation, FeatureLevel&) {
  for (size_t i = 1; i < operation.inputCount(); ++i) {
    const Status status = checkSameQuantization(operation.input(i), operation.output(0));
    HALYARD_RETURN_IF_ERROR(status.withCode(ResultCode::BAD_DATA), "input {}", i);
  }
  return okStatus();
}

Signature packSignature() {
  return {
      .rows = floatInt32AndQuant8Rows(FeatureLevel::FL6),
      .forms =
          {{.name = "", .inputs = {int32("axis"), typed("input", 0)}, .counts = {}, .repeated = 1}},
      .outputs = {typed("output", 0)},
      .check = checkPackedQuantization,
  };
}

}  // namespace

const OperationDefinition& split() {
  static const OperationDefinition definition = {
      OperationType::SPLIT,       splitSignature(),          inferSplit, computeSplit,
      /*acceptsZeroSized=*/false, /*float16AsFloat32=*/false};
  return definition;
}

const OperationDefinition& pack() {
  static const OperationDefinition definition = {
      OperationType::PACK,        packSignature(),           inferPack, computePack,
      /*acceptsZeroSized=*/false, /*float16AsFloat32=*/false};
  return definition;
}

}  // namespace halyard::ops
