#include "kernels/processor_cache.h"

#include <unistd.h>

#include <algorithm>

#include "base/made_once.h"

namespace halyard::cpudriver {

size_t secondLevelCacheBytes() {
  const long bytes = madeOnce([] { return ::sysconf(_SC_LEVEL2_CACHE_SIZE); });
  return static_cast<size_t>(std::max(bytes, 0L));
}

size_t cachedTileBytes() {
  static constexpr size_t kLeast = 256 * 1024;  // where the system does not say
  static constexpr size_t kMost = 2048 * 1024;
  return std::clamp(secondLevelCacheBytes(), kLeast, kMost) / 16 * 7;
}

}  // namespace halyard::cpudriver
