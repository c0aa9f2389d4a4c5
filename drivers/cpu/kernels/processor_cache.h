// The size of a processor's own cache.
// Thread safety: pure functions.
// Ownership: values.
#pragma once

#include <cstddef>

namespace halyard::cpudriver {

// The second-level cache of one processor. 0: the system does not say.
size_t secondLevelCacheBytes();
// Bytes of rows that stay in the second-level cache, beside the panels that stream through.
size_t cachedTileBytes();

}  // namespace halyard::cpudriver
