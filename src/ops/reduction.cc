// The operands, result shapes and loop plans of reductions.
#include "ops/reduction.h"

#include <cstdint>
#include <utility>

#include "ops/axis.h"
#include "ops/operand_checks.h"

namespace halyard::ops {
namespace {

constexpr size_t kAxes = 1;
constexpr size_t kMaxRank = 4;

using ReducedDims = std::array<bool, kMaxRank>;

Status readReduced(const OperationContext& context, ReducedDims* reduced) {
  HALYARD_RETURN_IF_ERROR(checkRank(context.input(0), 1, kMaxRank, "input"));
  std::span<const int32_t> axes;
  HALYARD_RETURN_IF_ERROR(context.readInts(kAxes, &axes), "axes");
  reduced->fill(false);
  for (int32_t value : axes) {
    size_t axis = 0;
    HALYARD_RETURN_IF_ERROR(resolveAxis(value, context.input(0).rank(), &axis));
    (*reduced)[axis] = true;
  }
  return okStatus();
}

}  // namespace

std::vector<OperandSpec> reductionInputs(OperandSpec keepDims) {
  return {typed("input", 0, rankBetween(1, kMaxRank)), fixed("axes", OperandType::TENSOR_INT32),
          std::move(keepDims)};
}

Status inferReduction(OperationContext& context, bool keepDims) {
  const Tensor& input = context.input(0);
  HALYARD_RETURN_IF_ERROR(checkSameQuantization(input, context.output(0)));
  ReducedDims reduced;
  HALYARD_RETURN_IF_ERROR(readReduced(context, &reduced));
  Shape result;
  for (size_t d = 0; d < input.rank(); ++d) {
    if (!reduced[d]) {
      result.push_back(input.dims[d]);
    } else if (keepDims) {
      result.push_back(1);
    }
  }
  if (result.empty()) result.push_back(1);
  context.output(0).dims = std::move(result);
  return okStatus();
}

Status planReduction(const OperationContext& context, std::vector<DimGroup>* groups) {
  ReducedDims reduced;
  HALYARD_RETURN_IF_ERROR(readReduced(context, &reduced));
  const Shape& dims = context.input(0).dims;
  groups->clear();  // innermost first at the beginning
  size_t stride = 1;
  for (size_t d = dims.size(); d-- > 0;) {
    if (dims[d] == 1) continue;
    if (!groups->empty() && (groups->back().outputStride == 0) == reduced[d]) {
      groups->back().extent *= dims[d];
    } else {
      groups->push_back({dims[d], reduced[d] ? 0 : stride});
    }
    if (!reduced[d]) stride *= dims[d];
  }
  if (groups->empty()) groups->push_back({1, 1});
  std::reverse(groups->begin(), groups->end());
  return okStatus();
}

}  // namespace halyard::ops
