// Axes: resolves negative ones, and views a tensor as [outer][extent][inner] around one of them.
// Thread safety: pure functions.
// Ownership: none.
#pragma once

#include <cstdint>

#include "halyard/driver/model.h"
#include "halyard/driver/status.h"

namespace halyard::ops {

// Maps an axis in [-rank, rank) to [0, rank); OP_FAILED otherwise.
inline Status resolveAxis(int32_t axis, size_t rank, size_t* resolved) {
  const auto limit = static_cast<int64_t>(rank);
  if (axis < -limit || axis >= limit) {
    return opFailed("axis is {}, expected {} to {} for a tensor of rank {}", axis, -limit,
                    limit - 1, rank);
  }
  *resolved = static_cast<size_t>(axis < 0 ? axis + limit : axis);
  return okStatus();
}

// Element [o][a][i] of the view lies at index (o * extent + a) * inner + i.
struct AxisView {
  size_t outer = 1;
  size_t extent = 1;
  size_t inner = 1;
};

// `axis` must be below the rank.
inline AxisView axisView(const Shape& shape, size_t axis) {
  AxisView view;
  view.extent = shape[axis];
  for (size_t i = 0; i < axis; ++i) view.outer *= shape[i];
  for (size_t i = axis + 1; i < shape.size(); ++i) view.inner *= shape[i];
  return view;
}

}  // namespace halyard::ops
