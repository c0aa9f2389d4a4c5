// Copies between regularly spaced positions, at the speed of memory.
// Thread safety: reentrant. Ownership: borrows everything.
#pragma once

#include <cstddef>
#include <vector>

#include "ops/operation.h"

namespace halyard::ops {

// One of the nested loops of a copy. Strides count elements. The input's stride may be 0 (repeats
// elements) or negative.
struct CopyLoop {
  size_t count;
  ptrdiff_t from;
  ptrdiff_t to;
};

// Copies elements of `elementBytes` (1, 2, 4, 8 or 16) at all combinations of loop positions.
// `from` and `to` point to the first. The loops may have any order, and no element is both read and
// written. The threads of `services` share the work.
void copyStrided(KernelServices& services, size_t elementBytes, const std::byte* from,
                 std::byte* to, std::vector<CopyLoop> loops);

}  // namespace halyard::ops
