// Geometry of transposed convolutions: the positions of the filter's contributions, and the
// equivalent ordinary convolutions.
// Thread safety: pure functions.
// Ownership: values.
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

// The output positions phase, phase + stride, ... of an axis. All of them use the same taps of the
// filter, every stride-th, and neighbours use neighbouring input positions. This is an ordinary
// window of stride 1 with those taps in reverse order.
struct Phase {
  WindowAxis axis;
  int64_t firstTap = 0;

  // Returns the filter's tap for tap k of the window.
  int64_t tap(int64_t k, int64_t stride) const { return firstTap + (axis.filter - 1 - k) * stride; }
};

Phase phaseOf(const TransposedAxis& axis, size_t phase);

// Returns the phases that have taps: at most the number of taps, for any stride.
std::vector<size_t> reachedPhases(const TransposedAxis& axis);

// Reads the sizes and scalars of a transposed convolution. Returns OP_FAILED if they do not match,
// INCOMPLETE if some are not known.
Status readTransposedPlan(const OperationContext& context, TransposedPlan* plan);

}  // namespace halyard::ops
