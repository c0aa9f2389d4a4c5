// Loops over the lines of a tensor along one axis.
// Thread safety: as OperationContext.
// Ownership: none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "ops/axis.h"
#include "ops/operation.h"

namespace halyard::ops {

// The number of elements that justifies a thread if each needs an exponential or a similar
// function. Such functions cost about ten times as much as other elementwise work.
inline constexpr size_t kExponentialGrain = 2048;

// Calls line(at) with the index of the first element of each line. A line has view.extent elements
// at a distance of view.inner. `elementGrain`: the number of elements that justifies a thread.
template <typename Line>
void forEachLine(OperationContext& context, const AxisView& view, size_t elementGrain, Line line) {
  const size_t grain = std::max<size_t>(1, elementGrain / view.extent);
  context.services().parallelFor(view.outer * view.inner, grain, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      line(i / view.inner * view.extent * view.inner + i % view.inner);
    }
  });
}

// Reads axis operand i; it is an axis of input 0.
inline Status readAxis(const OperationContext& context, size_t i, size_t* axis) {
  int32_t value = 0;
  HALYARD_RETURN_IF_ERROR(context.read(i, &value), "axis");
  return resolveAxis(value, context.input(0).rank(), axis);
}

// Reads the optional trailing axis operand i. The default is the last axis of input 0.
inline Status readOptionalAxis(const OperationContext& context, size_t i, size_t* axis) {
  int32_t value = -1;
  HALYARD_RETURN_IF_ERROR(context.readOptional(i, &value), "axis");
  return resolveAxis(value, context.input(0).rank(), axis);
}

}  // namespace halyard::ops
