// What a compilation is known by in a cache: a digest of everything that what a driver prepares
// can depend on. docs/caching.md lists it.
// Thread safety: ConstantDigests may be used from any thread; the rest are pure functions.
// Ownership: ConstantDigests shares the pools that it has read; nothing else is kept.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <tuple>

#include "base/bulk_digest.h"
#include "halyard/driver/hal_types.h"

namespace halyard::runtime {

// The digests of constants in pools of memory, each computed once: for all compilations of a model.
class ConstantDigests {
 public:
  // Learns the digests of all of a model's large constants at once, which is quicker than one by
  // one. What cannot be read is left for of() to say.
  void learn(const Model& model);
  // Of `at.length` bytes at `at.offset` of the pool, which must lie in it. An error when the pool
  // cannot be read, as with memory that only a device knows.
  Result<Digest> of(const SharedMemoryPtr& pool, const DataLocation& at);

 private:
  using Place = std::tuple<SharedMemoryPtr, uint32_t, uint32_t>;  // pool, offset, length
  bool knows(const Place& place);
  void learnFromFiles(std::span<const Place> places);

  std::mutex learning_;  // who comes while somebody learns waits for that
  std::mutex mutex_;
  std::map<Place, Digest> digests_;
};

// Changes with what the runtime hands to drivers, and with the order of what is digested.
inline constexpr std::string_view kCacheKeyFormat = "halyard compilation 2";

struct CacheKeyParts {
  hal::Token application = {};  // the application's own token
  // Which operations of which subgraph (kMainSubgraph or an index) the part has; without
  // operations, it is the whole model.
  uint32_t subgraph = 0;
  std::span<const uint32_t> operations;
  const Model* model = nullptr;  // of the part
  const hal::DeviceInfo* device = nullptr;
  hal::ExecutionPreference preference = hal::ExecutionPreference::FAST_SINGLE_ANSWER;
  hal::Priority priority = hal::Priority::MEDIUM;
  const hal::ExtensionAttributes* attributes = nullptr;
  std::string_view processor;  // processorText()
};

// The token that the driver gets, and the files are named after. An error when a constant cannot
// be read.
Result<hal::Token> cacheKey(const CacheKeyParts& parts, ConstantDigests& constants);

// What this machine's processor can do, as text without meaning.
const std::string& processorText();

}  // namespace halyard::runtime
