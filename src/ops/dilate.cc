// DILATE of the extension halyard.tflite: a tensor with equal elements put in between its own.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "ops/data_movement.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"
#include "ops/type_rows.h"

namespace halyard::ops {
namespace {

enum Input : size_t { kInput, kSteps, kFill };

Status infer(OperationContext& context) {
  const Tensor& input = context.input(kInput);
  const Tensor& fill = context.input(kFill);
  HALYARD_RETURN_IF_ERROR(checkSameQuantization(input, context.output(0)));
  HALYARD_RETURN_IF_ERROR(checkSameQuantization(fill, context.output(0)));
  if (fill.elementCount() != 1) {
    return opFailed("fill is {}, expected one element", realShapeText(fill.dims));
  }
  std::span<const int32_t> steps;
  HALYARD_RETURN_IF_ERROR(
      readIntsOfShape(context, kSteps, {static_cast<uint32_t>(input.rank())}, "steps", &steps));
  Shape dims = input.dims;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (steps[d] < 1) {
      return opFailed("steps has {} for dimension {}, expected at least 1", steps[d], d);
    }
    const uint64_t size = dims[d] == 0 ? 0 : (dims[d] - 1) * static_cast<uint64_t>(steps[d]) + 1;
    if (size > INT32_MAX) {
      return opFailed("steps has {} for dimension {} of {} elements, the result is too large",
                      steps[d], d, dims[d]);
    }
    dims[d] = static_cast<uint32_t>(size);
  }
  context.output(0).dims = std::move(dims);
  return okStatus();
}

Status compute(OperationContext& context) {
  const Tensor& input = context.input(kInput);
  Tensor& output = context.output(0);
  std::span<const int32_t> steps;
  HALYARD_RETURN_IF_ERROR(context.readInts(kSteps, &steps), "steps");
  const size_t size = elementSize(output.type);
  const size_t bytes = output.elementCount() * size;
  auto* const to = output.as<uint8_t>();
  std::memcpy(to, context.input(kFill).data, size);
  // Each copy doubles the filled part.
  for (size_t done = size; done < bytes; done *= 2) {
    std::memcpy(to + done, to, std::min(done, bytes - done));
  }
  const std::vector<ptrdiff_t> fromStrides = rowMajorStrides(input.dims);
  const std::vector<ptrdiff_t> toStrides = rowMajorStrides(output.dims);
  std::vector<CopyLoop> loops;
  for (size_t d = 0; d < steps.size(); ++d) {
    loops.push_back({input.dims[d], fromStrides[d], toStrides[d] * steps[d]});
  }
  copyElements(context.services(), input, 0, output, 0, std::move(loops));
  return okStatus();
}

OperationDefinition define() {
  OperationDefinition definition;
  definition.type = OperationType::DILATE;
  definition.signature.rows = floatInt32AndQuant8Rows(FeatureLevel::FL3);
  definition.signature.rows.push_back({FeatureLevel::FL3, {OperandType::TENSOR_BOOL8}});
  definition.signature.forms = {
      {"", {typed("input", 0), int32List("steps"), typed("fill", 0)}, {}}};
  definition.signature.outputs = {typed("output", 0)};
  definition.infer = infer;
  definition.reference = compute;
  definition.float16AsFloat32 = false;
  return definition;
}

}  // namespace

const OperationDefinition& dilate() {
  return madeOnce([] { return define(); });
}

}  // namespace halyard::ops
