// The key of a compilation in a cache: a digest of all data on which a prepared model can depend.
// docs/caching.md lists these data.
// Thread safety: ConstantDigests may be used from any thread. The functions are pure.
// Ownership: ConstantDigests shares the pools that it has read.
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

// The digests of constants in memory pools. Each digest is computed once, for all compilations of a
// model.
class ConstantDigests {
 public:
  // Computes the digests of all large constants of a model together, which is faster than one by
  // one. of() reports the errors for constants that cannot be read.
  void learn(const Model& model);
  // The digest of `at.length` bytes at `at.offset` of the pool. The range must lie in the pool. An
  // error when the pool cannot be read, such as memory that only a device knows.
  Result<Digest> of(const SharedMemoryPtr& pool, const DataLocation& at);

 private:
  using Place = std::tuple<SharedMemoryPtr, uint32_t, uint32_t>;  // pool, offset, length
  bool knows(const Place& place);
  void learnFromFiles(std::span<const Place> places);

  std::mutex learning_;  // held by learn(), so that a second call waits for the first one
  std::mutex mutex_;
  std::map<Place, Digest> digests_;
};

// Changes when the runtime passes other data to drivers, or when the order of the digested data
// changes.
inline constexpr std::string_view kCacheKeyFormat = "halyard compilation 2";

struct CacheKeyParts {
  hal::Token application = {};  // the token of the application
  // The part consists of these operations of this subgraph. `subgraph` is kMainSubgraph or an
  // index. Without operations, the part is the whole model.
  uint32_t subgraph = 0;
  std::span<const uint32_t> operations;
  const Model* model = nullptr;  // model of the part
  const hal::DeviceInfo* device = nullptr;
  hal::ExecutionPreference preference = hal::ExecutionPreference::FAST_SINGLE_ANSWER;
  hal::Priority priority = hal::Priority::MEDIUM;
  const hal::ExtensionAttributes* attributes = nullptr;
  std::string_view processor;  // processorText()
};

// The token for the driver and for the names of the files. An error when a constant cannot be read.
Result<hal::Token> cacheKey(const CacheKeyParts& parts, ConstantDigests& constants);

// Identifies the features of the processor of this machine. The format of the text has no meaning.
const std::string& processorText();

}  // namespace halyard::runtime
