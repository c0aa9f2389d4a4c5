// firstIndex: the first of many that is what there is hardly ever one of.
// Thread safety: as its argument's. Ownership: none.
#pragma once

#include <cstddef>

namespace halyard {

// The first i below `count` for which is(i), or `count`. All are asked at first, without a branch,
// so that several can be asked at once: `is` must have no effects, and should have no && and ||.
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
