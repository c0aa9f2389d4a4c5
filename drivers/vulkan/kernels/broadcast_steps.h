// Distances between neighbours of a tensor that is broadcast to a larger one.
// Thread safety: pure functions. Ownership: none.
#pragma once

#include <cstdint>

#include "halyard/driver/model.h"

namespace halyard::vulkandriver {

// The step in `axis` of the result, counted from the innermost; 0: the tensor is repeated.
inline int32_t stepOf(const Shape& dims, size_t axis) {
  if (axis >= dims.size() || dims[dims.size() - 1 - axis] == 1) return 0;
  int32_t step = 1;
  for (size_t i = dims.size() - axis; i < dims.size(); ++i) step *= static_cast<int32_t>(dims[i]);
  return step;
}

}  // namespace halyard::vulkandriver
