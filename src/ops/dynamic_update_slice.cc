// DYNAMIC_UPDATE_SLICE of the extension halyard.tflite: a tensor with a part replaced. The position
// of the part is known only at execution.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "ops/data_movement.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"
#include "ops/type_rows.h"

namespace halyard::ops {
namespace {

enum Input : size_t { kOperand, kUpdate, kStarts };

Status infer(OperationContext& context) {
  const Tensor& operand = context.input(kOperand);
  const Tensor& update = context.input(kUpdate);
  for (const Tensor* input : {&operand, &update}) {
    HALYARD_RETURN_IF_ERROR(checkSameQuantization(*input, context.output(0)));
  }
  if (update.rank() != operand.rank() ||
      !std::ranges::equal(update.dims, operand.dims, std::ranges::less_equal())) {
    return opFailed("the update is {}, expected a part of {}", realShapeText(update.dims),
                    realShapeText(operand.dims));
  }
  std::span<const int32_t> starts;
  HALYARD_RETURN_IF_ERROR(unlessIncomplete(readIntsOfShape(
      context, kStarts, {static_cast<uint32_t>(operand.rank())}, "starts", &starts)));
  context.output(0).dims = operand.dims;
  return okStatus();
}

// A start is moved so that the part lies inside.
Status compute(OperationContext& context) {
  const Tensor& update = context.input(kUpdate);
  Tensor& output = context.output(0);
  HALYARD_RETURN_IF_ERROR(copyAll(context));
  std::span<const int32_t> starts;
  HALYARD_RETURN_IF_ERROR(context.readInts(kStarts, &starts), "starts");
  const std::vector<ptrdiff_t> from = rowMajorStrides(update.dims);
  const std::vector<ptrdiff_t> to = rowMajorStrides(output.dims);
  std::vector<CopyLoop> loops;
  size_t offset = 0;
  for (size_t d = 0; d < starts.size(); ++d) {
    const int64_t most = int64_t{output.dims[d]} - update.dims[d];
    offset += static_cast<size_t>(std::clamp<int64_t>(starts[d], 0, most) * to[d]);
    loops.push_back({update.dims[d], from[d], to[d]});
  }
  copyElements(context.services(), update, 0, output, offset, std::move(loops));
  return okStatus();
}

OperationDefinition define() {
  OperationDefinition definition;
  definition.type = OperationType::DYNAMIC_UPDATE_SLICE;
  definition.signature.rows = floatInt32AndQuant8Rows(FeatureLevel::FL3);
  definition.signature.rows.push_back({FeatureLevel::FL3, {OperandType::TENSOR_BOOL8}});
  definition.signature.forms = {
      {"", {typed("operand", 0), typed("update", 0), int32List("starts")}, {}}};
  definition.signature.outputs = {typed("output", 0)};
  definition.infer = infer;
  definition.reference = compute;
  definition.float16AsFloat32 = false;
  return definition;
}

}  // namespace

const OperationDefinition& dynamicUpdateSlice() {
  return madeOnce([] { return define(); });
}

}  // namespace halyard::ops
