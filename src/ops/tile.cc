// TILE: repeats a tensor along its dimensions.
#include <cstdint>
#include <span>

#include "ops/data_movement.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"
#include "ops/type_rows.h"

namespace halyard::ops {
namespace {

Status readMultiples(const OperationContext& context, std::span<const int32_t>* multiples) {
  const Shape shape = {static_cast<uint32_t>(context.input(0).rank())};
  return readIntsOfShape(context, 1, shape, "multiples", multiples);
}

Status infer(OperationContext& context) {
  HALYARD_RETURN_IF_ERROR(checkSameQuantization(context.input(0), context.output(0)));
  std::span<const int32_t> multiples;
  HALYARD_RETURN_IF_ERROR(readMultiples(context, &multiples));
  Shape result = context.input(0).dims;
  for (size_t d = 0; d < result.size(); ++d) {
    if (multiples[d] < 0) {
      return opFailed("multiples are {} in dimension {}, expected 0 or more", multiples[d], d);
    }
    HALYARD_RETURN_IF_ERROR(
        setDimension(d, uint64_t{result[d]} * static_cast<uint32_t>(multiples[d]), &result));
  }
  context.output(0).dims = std::move(result);
  return okStatus();
}

Status compute(OperationContext& context) {
  const Tensor& input = context.input(0);
  std::span<const int32_t> multiples;
  HALYARD_RETURN_IF_ERROR(readMultiples(context, &multiples));
  const std::vector<ptrdiff_t> from = rowMajorStrides(input.dims);
  const std::vector<ptrdiff_t> to = rowMajorStrides(context.output(0).dims);
  std::vector<CopyLoop> loops;
  for (size_t d = 0; d < input.rank(); ++d) {
    loops.push_back({static_cast<size_t>(multiples[d]), 0, input.dims[d] * to[d]});
    loops.push_back({input.dims[d], from[d], to[d]});
  }
  copyElements(context.services(), input, 0, context.output(0), 0, std::move(loops));
  return okStatus();
}

Signature makeSignature() {
  Signature signature;
  signature.rows = floatInt32AndQuant8Rows(FeatureLevel::FL3);
  signature.forms = {{"", {typed("input", 0), int32List("multiples")}, {}}};
  signature.outputs = {typed("output", 0)};
  return signature;
}

}  // namespace

const OperationDefinition& tile() {
  return madeOnce([] {
    return OperationDefinition{
        OperationType::TILE,        makeSignature(),           infer, compute,
        /*acceptsZeroSized=*/false, /*float16AsFloat32=*/false};
  });
}

}  // namespace halyard::ops
