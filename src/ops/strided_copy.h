// Copies between regularly spaced positions, at the speed of memory.
// Thread safety: reentrant. Ownership: borrows everything.
#pragma once

#include <cstddef>
#include <vector>

#include "ops/operation.h"

namespace halyard::ops {

// One of the nested loops of a copy. Strides count elements; the input's may be 0 (its elements are
// repeated) or negative.
struct CopyLoop {
  size_t count;
  ptrdiff_t from;
  ptrdiff_t to;
};

// Copies the elements of `elementBytes` (1, 2, 4, 8 or 16) at all combinations of loop positions,
// from and to where the first is. The loops may come in any order, and no element is both read and
// written. Spread over the threads of `services`.
void copyStrided(KernelServices& services, size_t elementBytes, const std::byte* from,
                 std::byte* to, std::vector<CopyLoop> loops);

}  // namespace halyard::ops
