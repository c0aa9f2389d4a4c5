// Prepares a part of a model on a device, with the cache of the application if it has one.
// Thread safety: CachedPreparation is immutable. Several threads may prepare parts.
// Ownership: shares digests and descriptors, and borrows devices for a call.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "halyard/driver/device.h"
#include "runtime/cache/cache_files.h"
#include "runtime/cache/cache_key.h"
#include "runtime/partition/cache_record.h"
#include "runtime/partition/plan.h"

namespace halyard::runtime {

// The cache of the application: a folder, or descriptors for one device.
struct CachingRequest {
  struct Descriptors {
    std::vector<UniqueFd> modelCache;
    std::vector<UniqueFd> dataCache;
  };
  hal::Token token = {};
  std::string folder;                              // ends in '/' unless it is empty
  std::shared_ptr<const Descriptors> descriptors;  // null: files in the folder
};

// After this number of consecutive loads that were slower than compiling, the files are not used
// any more.
inline constexpr uint32_t kMostSlowerStarts = 3;

// Whether loading from files was slower than compiling. A tenth plus a millisecond of difference is
// treated as chance. Both in nanoseconds.
inline bool isSlower(double warmNs, double coldNs) { return warmNs > coldNs * 1.1 + 1e6; }

class CachedPreparation {
 public:
  CachedPreparation(CachingRequest request, std::shared_ptr<ConstantDigests> digests)
      : request_(std::move(request)), digests_(std::move(digests)) {}

  // The result of an earlier preparation without files.
  struct EarlierResult {
    Result<std::shared_ptr<hal::PreparedModel>> prepared;
    std::chrono::nanoseconds took{0};
  };
  struct Part {
    ValidModel model;
    bool isWhole = true;  // of the application's model; otherwise `operations` of `subgraph`
    uint32_t subgraph = kMainSubgraph;
    std::span<const uint32_t> operations;
    // For this part. It may be non-null only if whyNoFiles returns a reason.
    const EarlierResult* earlier = nullptr;
  };
  // Loads the part from the files if possible. Otherwise it compiles the part with files to save it
  // in, or without files if they are not available.
  // Errors are those of the prepareModel of the device. The result is not null.
  Result<std::shared_ptr<hal::PreparedModel>> prepare(const Device& device, const Part& part,
                                                      const hal::PrepareOptions& options,
                                                      CacheRecord* record) const;

 private:
  CachingRequest request_;
  std::shared_ptr<ConstantDigests> digests_;
};

// The part for a step. The step must outlive it.
CachedPreparation::Part partOf(const ComputeStep& step, bool isWhole);

// The reason why the device gets no files for any model. Empty: it may get files. `caching` is null
// if the application does not use a cache.
std::string whyNoFiles(const CachedPreparation* caching, const Device& device,
                       hal::ExecutionPreference preference);

// Like CachedPreparation::prepare. `caching` is null if the application does not use a cache.
Result<std::shared_ptr<hal::PreparedModel>> preparePart(const Device& device,
                                                        const CachedPreparation* caching,
                                                        const CachedPreparation::Part& part,
                                                        const hal::PrepareOptions& options,
                                                        CacheRecord* record);

}  // namespace halyard::runtime
