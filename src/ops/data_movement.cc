// Copies between regularly spaced positions.
#include "ops/data_movement.h"

#include <algorithm>
#include <cstddef>

#include "ops/operand_checks.h"

namespace halyard::ops {
void copyElements(KernelServices& services, const Tensor& from, size_t fromOffset, const Tensor& to,
                  size_t toOffset, std::vector<CopyLoop> loops) {
  const size_t bytes = elementSize(to.type);
  copyStrided(services, bytes, from.as<std::byte>() + fromOffset * bytes,
              static_cast<std::byte*>(to.data) + toOffset * bytes, std::move(loops));
}

Status copyAll(OperationContext& context) {
  Tensor& output = context.output(0);
  copyElements(context.services(), context.input(0), 0, output, 0, {{output.elementCount(), 1, 1}});
  return okStatus();
}

std::vector<ptrdiff_t> rowMajorStrides(const Shape& shape) {
  std::vector<ptrdiff_t> strides(shape.size());
  ptrdiff_t stride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= shape[d];
  }
  return strides;
}

Status readIntsOfShape(const OperationContext& context, size_t i, const Shape& shape,
                       std::string_view name, std::span<const int32_t>* values) {
  if (context.input(i).dims != shape) {
    return opFailed("the shape of {} is {}, expected {}", name,
                    realShapeText(context.input(i).dims), realShapeText(shape));
  }
  HALYARD_RETURN_IF_ERROR(context.readInts(i, values), "{}", name);
  return okStatus();
}

Status setDimension(size_t d, uint64_t size, Shape* shape) {
  if (size > UINT32_MAX) return opFailed("dimension {} of the output would be {}", d, size);
  (*shape)[d] = static_cast<uint32_t>(size);
  return okStatus();
}

Status checkOutputLikeInput(const OperationView& operation, FeatureLevel&) {
  const Shape& input = operation.input(0).dimensions;
  const Shape& output = operation.output(0).dimensions;
  if (!input.empty() && !output.empty() && input.size() != output.size()) {
    return badData("output has rank {} {}, expected that of the input, {} {}", output.size(),
                   shapeText(output), input.size(), shapeText(input));
  }
  return checkSameQuantization(operation.input(0), operation.output(0))
      .withCode(ResultCode::BAD_DATA);
}

Status checkBorderOfZeros(const OperationView& operation, FeatureLevel& level) {
  if (isQuant8Asymm(operation.input(0).type) && operation.input(0).zeroPoint != 0) {
    level = std::max(level, FeatureLevel::FL3);
  }
  return okStatus();
}

}  // namespace halyard::ops
