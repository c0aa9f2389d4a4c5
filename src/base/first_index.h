// firstIndex: finds the first index with a property that few indices have.
// Thread safety: as its argument's.
// Ownership: none.
#pragma once

#include <cstddef>

namespace halyard {

// Returns the first i below `count` for which is(i), or `count`. It first evaluates all of them
// without a branch, so that the processor can evaluate several at once. `is` must have no side
// effects, and should have no && and ||.
template <typename Is>
size_t firstIndex(size_t count, Is&& is) {
  unsigned any = 0;
  for (size_t i = 0; i < count; ++i) any |= static_cast<unsigned>(is(i));
  if (any == 0) return count;
  size_t first = 0;
  while (!is(first)) ++first;
  return first;
}

}  // namespace halyard
