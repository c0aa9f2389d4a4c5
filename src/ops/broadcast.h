// Broadcasting of two tensors: the result's shape, and loops over it without index divisions.
// Thread safety: pure functions; applyBroadcast as for the OperationContext.
// Ownership: none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "halyard/driver/status.h"
#include "ops/elementwise.h"
#include "ops/operation.h"

namespace halyard::ops {

// Aligns the shapes at the last dimension. Missing leading dimensions count as 1. Two sizes match
// when they are equal or one of them is 1. Otherwise returns OP_FAILED. `result` must not alias a
// or b.
Status broadcastShapes(const Shape& a, const Shape& b, Shape* result);

// OperationDefinition::infer for a function of two elements, for inputs of any rank.
inline Status inferBroadcast(OperationContext& context) {
  return broadcastShapes(context.input(0).dims, context.input(1).dims, &context.output(0).dims);
}

// The loops over a broadcast result. Neighbouring dimensions with equal steps in both inputs are
// merged, so that equal shapes become a single row.
struct BroadcastPlan {
  // A step along one axis moves by this number of elements in each input; 0 if it is broadcast.
  struct Axis {
    size_t extent;
    size_t strideA;
    size_t strideB;
  };
  std::vector<Axis> outer;  // outermost first; may be empty
  Axis row;                 // the innermost axis; its strides are 0 or 1
};

// `result` is the result of broadcastShapes for a and b, without zero sizes.
BroadcastPlan planBroadcast(const Shape& a, const Shape& b, const Shape& result);

// Calls row(offsetA, offsetB, offsetResult, length) for the pieces of rows that cover elements
// [begin, end) of the result.
template <typename Row>
void forEachBroadcastRow(const BroadcastPlan& plan, size_t begin, size_t end, Row row) {
  const size_t axes = plan.outer.size();
  std::vector<size_t> at(axes, 0);
  size_t within = begin % plan.row.extent;
  size_t rest = begin / plan.row.extent;
  size_t a = 0;
  size_t b = 0;
  for (size_t d = axes; d-- > 0;) {
    at[d] = rest % plan.outer[d].extent;
    rest /= plan.outer[d].extent;
    a += at[d] * plan.outer[d].strideA;
    b += at[d] * plan.outer[d].strideB;
  }
  while (begin < end) {
    const size_t length = std::min(plan.row.extent - within, end - begin);
    row(a + within * plan.row.strideA, b + within * plan.row.strideB, begin, length);
    begin += length;
    within = 0;
    for (size_t d = axes; d-- > 0;) {
      const BroadcastPlan::Axis& axis = plan.outer[d];
      a += axis.strideA;
      b += axis.strideB;
      if (++at[d] < axis.extent) break;
      at[d] = 0;
      a -= axis.strideA * axis.extent;
      b -= axis.strideB * axis.extent;
    }
  }
}

// Computes output(0) = f(input(0), input(1)) by elements. The output has the dims of
// broadcastShapes. `f` is copied.
template <typename In, typename Out, typename F>
void applyBroadcast(OperationContext& context, F f) {
  const In* baseA = context.input(0).as<In>();
  const In* baseB = context.input(1).as<In>();
  Out* baseOut = context.output(0).as<Out>();
  const BroadcastPlan plan =
      planBroadcast(context.input(0).dims, context.input(1).dims, context.output(0).dims);
  const auto row = [=, strideA = plan.row.strideA, strideB = plan.row.strideB](
                       size_t offsetA, size_t offsetB, size_t offset, size_t length) {
    const In* a = baseA + offsetA;
    const In* b = baseB + offsetB;
    Out* out = baseOut + offset;
    const F local = f;  // see applyToRange
    if (strideA != 0 && strideB != 0) {
      for (size_t i = 0; i < length; ++i) out[i] = local(a[i], b[i]);
    } else if (strideA != 0) {
      const In y = *b;
      for (size_t i = 0; i < length; ++i) out[i] = local(a[i], y);
    } else {
      // Both strides are 0 only in a row of one element.
      const In x = *a;
      for (size_t i = 0; i < length; ++i) out[i] = local(x, b[i]);
    }
  };
  context.services().parallelFor(
      context.output(0).elementCount(), kElementGrain,
      [&plan, &row](size_t begin, size_t end) { forEachBroadcastRow(plan, begin, end, row); });
}

}  // namespace halyard::ops
