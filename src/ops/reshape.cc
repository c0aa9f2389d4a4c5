// RESHAPE, SQUEEZE and EXPAND_DIMS: the same elements in the same order with other dimensions.
#include <fmt/ranges.h>

#include <cstdint>
#include <span>

#include "ops/axis.h"
#include "ops/data_movement.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"
#include "ops/type_rows.h"

namespace halyard::ops {
namespace {

// Replaces the one -1 that a target shape may have.
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
    if (product > count) break;  // an error below; the loop must not overflow
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

Status inferReshape(OperationContext& context) {
  HALYARD_RETURN_IF_ERROR(checkRank(context.input(0), 1, 4, "input"));
  HALYARD_RETURN_IF_ERROR(checkSameQuantization(context.input(0), context.output(0)));
  std::span<const int32_t> target;
  HALYARD_RETURN_IF_ERROR(context.readInts(1, &target), "target shape");
  return resolveTarget(context.input(0), target, &context.output(0).dims);
}

// Returns the dimensions to remove: the listed ones or, without the list, all of size 1.
Status readSqueezed(const OperationContext& context, std::vector<bool>* squeezed) {
  const Shape& dims = context.input(0).dims;
  squeezed->assign(dims.size(), false);
  if (!context.hasInput(1)) {
    for (size_t d = 0; d < dims.size(); ++d) (*squeezed)[d] = dims[d] == 1;
    return okStatus();
  }
  HALYARD_RETURN_IF_ERROR(checkRank(context.input(1), 1, 1, "axes"));
  std::span<const int32_t> axes;
  HALYARD_RETURN_IF_ERROR(context.readInts(1, &axes), "axes");
  for (size_t i = 0; i < axes.size(); ++i) {
    size_t axis = 0;
    HALYARD_RETURN_IF_ERROR(resolveAxis(axes[i], dims.size(), &axis), "axes, element {}", i);
    if (dims[axis] != 1) {
      return opFailed("axes, element {}: dimension {} of the input {} is to go, but is not 1", i,
                      axis, realShapeText(dims));
    }
    (*squeezed)[axis] = true;
  }
  return okStatus();
}

Status inferSqueeze(OperationContext& context) {
  const Tensor& input = context.input(0);
  HALYARD_RETURN_IF_ERROR(checkRank(input, 1, 4, "input"));
  HALYARD_RETURN_IF_ERROR(checkSameQuantization(input, context.output(0)));
  std::vector<bool> squeezed;
  HALYARD_RETURN_IF_ERROR(readSqueezed(context, &squeezed));
  Shape result;
  for (size_t d = 0; d < squeezed.size(); ++d) {
    if (!squeezed[d]) result.push_back(input.dims[d]);
  }
  // A tensor has at least one dimension.
  if (result.empty()) result.push_back(1);
  context.output(0).dims = std::move(result);
  return okStatus();
}

Status inferExpandDims(OperationContext& context) {
  const Tensor& input = context.input(0);
  HALYARD_RETURN_IF_ERROR(checkSameQuantization(input, context.output(0)));
  int32_t value = 0;
  HALYARD_RETURN_IF_ERROR(context.read(1, &value), "axis");
  size_t axis = 0;
  HALYARD_RETURN_IF_ERROR(resolveAxis(value, input.rank() + 1, &axis), "output");
  Shape result = input.dims;
  result.insert(result.begin() + static_cast<ptrdiff_t>(axis), 1);
  context.output(0).dims = std::move(result);
  return okStatus();
}

Signature makeSignature(std::vector<TypeRow> rows, RankRules inputRanks, OperandSpec second) {
  Signature signature;
  signature.rows = std::move(rows);
  signature.forms = {{"", {typed("input", 0, std::move(inputRanks)), std::move(second)}, {}}};
  signature.outputs = {typed("output", 0)};
  return signature;
}

Signature reshapeSignature() {
  std::vector<TypeRow> rows = floatAndQuant8Rows(FeatureLevel::FL1);
  rows.push_back({FeatureLevel::FL6, {OperandType::TENSOR_INT32}});
  return makeSignature(std::move(rows), rankBetween(1, 4),
                       fixed("shape", OperandType::TENSOR_INT32));
}

}  // namespace

const OperationDefinition& reshape() {
  return madeOnce([] {
    return OperationDefinition{
        OperationType::RESHAPE,     reshapeSignature(),        inferReshape, copyAll,
        /*acceptsZeroSized=*/false, /*float16AsFloat32=*/false};
  });
}

const OperationDefinition& squeeze() {
  return madeOnce([] {
    return OperationDefinition{
        OperationType::SQUEEZE,
        makeSignature(floatAndQuant8Rows(FeatureLevel::FL2), rankBetween(1, 4),
                      fixed("axes", OperandType::TENSOR_INT32).orOmitted()),
        inferSqueeze,
        copyAll,
        /*acceptsZeroSized=*/false,
        /*float16AsFloat32=*/false};
  });
}

const OperationDefinition& expandDims() {
  return madeOnce([] {
    return OperationDefinition{
        OperationType::EXPAND_DIMS,
        makeSignature(floatInt32AndQuant8Rows(FeatureLevel::FL3), {}, int32("axis")),
        inferExpandDims,
        copyAll,
        /*acceptsZeroSized=*/false,
        /*float16AsFloat32=*/false};
  });
}

}  // namespace halyard::ops
