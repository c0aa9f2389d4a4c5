// TRANSPOSE: the same elements with the dimensions in another order.
#include <fmt/ranges.h>

#include <cstdint>
#include <span>

#include "ops/data_movement.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"
#include "ops/type_rows.h"

namespace halyard::ops {
namespace {

// order[i] is the input dimension that becomes output dimension i. Without the operand, the
// dimensions are reversed.
Status readOrder(const OperationContext& context, std::vector<size_t>* order) {
  const size_t rank = context.input(0).rank();
  order->resize(rank);
  if (!context.hasInput(1)) {
    for (size_t i = 0; i < rank; ++i) (*order)[i] = rank - 1 - i;
    return okStatus();
  }
  std::span<const int32_t> values;
  HALYARD_RETURN_IF_ERROR(context.readInts(1, &values), "permutation");
  if (values.size() != rank) {
    return opFailed("the permutation has {} entries, the input has rank {}", values.size(), rank);
  }
  std::vector<bool> used(rank, false);
  for (size_t i = 0; i < rank; ++i) {
    if (values[i] < 0 || static_cast<size_t>(values[i]) >= rank ||
        used[static_cast<size_t>(values[i])]) {
      return opFailed("the permutation [{}] is not one of 0 to {}", fmt::join(values, ","),
                      rank - 1);
    }
    (*order)[i] = static_cast<size_t>(values[i]);
    used[(*order)[i]] = true;
  }
  return okStatus();
}

Status infer(OperationContext& context) {
  const Tensor& input = context.input(0);
  HALYARD_RETURN_IF_ERROR(checkRank(input, 1, 4, "input"));
  HALYARD_RETURN_IF_ERROR(checkSameQuantization(input, context.output(0)));
  std::vector<size_t> order;
  HALYARD_RETURN_IF_ERROR(readOrder(context, &order));
  Shape result;
  for (size_t dim : order) result.push_back(input.dims[dim]);
  context.output(0).dims = std::move(result);
  return okStatus();
}

Status compute(OperationContext& context) {
  std::vector<size_t> order;
  HALYARD_RETURN_IF_ERROR(readOrder(context, &order));
  const Tensor& input = context.input(0);
  const std::vector<ptrdiff_t> from = rowMajorStrides(input.dims);
  const std::vector<ptrdiff_t> to = rowMajorStrides(context.output(0).dims);
  std::vector<CopyLoop> loops;
  for (size_t d = 0; d < order.size(); ++d) {
    loops.push_back({input.dims[order[d]], from[order[d]], to[d]});
  }
  copyElements(context.services(), input, 0, context.output(0), 0, std::move(loops));
  return okStatus();
}

OperationDefinition define() {
  OperationDefinition definition;
  definition.type = OperationType::TRANSPOSE;
  definition.signature.rows = floatAndQuant8Rows(FeatureLevel::FL2);
  definition.signature.forms = {{"",
                                 {typed("input", 0, rankBetween(1, 4)),
                                  fixed("permutation", OperandType::TENSOR_INT32).orOmitted()},
                                 {}}};
  definition.signature.outputs = {typed("output", 0)};
  definition.infer = infer;
  definition.reference = compute;
  definition.acceptsZeroSized = true;
  definition.float16AsFloat32 = false;
  return definition;
}

}  // namespace

const OperationDefinition& transpose() {
  return madeOnce([] { return define(); });
}

}  // namespace halyard::ops
