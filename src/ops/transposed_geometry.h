// Geometry of transposed convolutions: where the filter puts what it makes of the input, and the
// ordinary convolutions that this comes down to.
// Thread safety: pure functions. Ownership: values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/conv_geometry.h"
#include "ops/operation.h"

namespace halyard::ops {

// One axis: input position h and tap u contribute to output position h * stride + u - padBefore.
struct TransposedAxis {
  int64_t input = 0;
  int64_t filter = 0;
  int64_t stride = 1;
  int64_t padBefore = 0;
  int64_t output = 0;

  size_t phases() const { return static_cast<size_t>(std::min(stride, output)); }
};

struct TransposedPlan {
  bool nchw = false;
  size_t activationInput = 0;
  ImageDims input;
  ImageDims output;
  TransposedAxis height;
  TransposedAxis width;
};

// The output positions phase, phase + stride, ... of an axis. All of them see the same taps of the
// filter, every stride-th, and neighbours see neighbouring input positions: an ordinary window of
// stride 1 that takes those taps in reverse order.
struct Phase {
  WindowAxis axis;
  int64_t firstTap = 0;

  // The filter's tap for tap k of the window.
  int64_t tap(int64_t k, int64_t stride) const { return firstTap + (axis.filter - 1 - k) * stride; }
};

Phase phaseOf(const TransposedAxis& axis, size_t phase);

// The phases that taps contribute to: at most as many as there are taps, however large the stride.
std::vector<size_t> reachedPhases(const TransposedAxis& axis);

// Reads the sizes and scalars of a transposed convolution. OP_FAILED where they do not fit each
// other, INCOMPLETE where they are not all known.
Status readTransposedPlan(const OperationContext& context, TransposedPlan* plan);

}  // namespace halyard::ops
