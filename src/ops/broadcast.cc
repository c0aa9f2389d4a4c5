// The shape of a broadcast result, and the plan of its loops.
#include "ops/broadcast.h"

#include <algorithm>

#include "ops/operand_checks.h"

namespace halyard::ops {
namespace {

// Returns dimension d of `shape` after it is extended by leading ones to `rank`.
uint32_t alignedDim(const Shape& shape, size_t rank, size_t d) {
  const size_t missing = rank - shape.size();
  return d < missing ? 1 : shape[d - missing];
}

}  // namespace

Status broadcastShapes(const Shape& a, const Shape& b, Shape* result) {
  const size_t rank = std::max(a.size(), b.size());
  result->resize(rank);
  for (size_t d = 0; d < rank; ++d) {
    const uint32_t x = alignedDim(a, rank, d);
    const uint32_t y = alignedDim(b, rank, d);
    if (x != y && x != 1 && y != 1) {
      return opFailed("shapes {} and {} cannot be broadcast: sizes {} and {}", realShapeText(a),
                      realShapeText(b), x, y);
    }
    (*result)[d] = x == 1 ? y : x;
  }
  return okStatus();
}

BroadcastPlan planBroadcast(const Shape& a, const Shape& b, const Shape& result) {
  BroadcastPlan plan;
  if (a == b) {
    plan.row = {1, 1, 1};
    for (const uint32_t extent : result) plan.row.extent *= extent;
    return plan;
  }
  const size_t rank = result.size();
  // The axes in order from the innermost dimension outwards.
  std::vector<BroadcastPlan::Axis> axes;
  size_t strideA = 1;
  size_t strideB = 1;
  for (size_t d = rank; d-- > 0;) {
    const size_t extent = result[d];
    if (extent == 1) continue;
    const bool stepsA = alignedDim(a, rank, d) != 1;
    const bool stepsB = alignedDim(b, rank, d) != 1;
    const bool merges = !axes.empty() && stepsA == (axes.back().strideA != 0) &&
                        stepsB == (axes.back().strideB != 0);
    if (merges) {
      axes.back().extent *= extent;
    } else {
      axes.push_back({extent, stepsA ? strideA : 0, stepsB ? strideB : 0});
    }
    if (stepsA) strideA *= extent;
    if (stepsB) strideB *= extent;
  }
  if (axes.empty()) axes.push_back({1, 0, 0});
  plan.row = axes.front();
  plan.outer.assign(axes.rbegin(), axes.rend() - 1);
  return plan;
}

}  // namespace halyard::ops
