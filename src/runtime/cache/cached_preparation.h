// Preparing a part of a model on a device, by way of the application's cache where there is one.
// Thread safety: CachedPreparation is immutable; its parts may be prepared on several threads.
// Ownership: shares digests and descriptors; devices are borrowed for a call.
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

// What the application has said of its cache: a folder, or descriptors for one device.
struct CachingRequest {
  struct Descriptors {
    std::vector<UniqueFd> modelCache;
    std::vector<UniqueFd> dataCache;
  };
  hal::Token token = {};
  std::string folder;                              // ends in '/' unless it is empty
  std::shared_ptr<const Descriptors> descriptors;  // null: files in the folder
};

// After so many starts in a row that have taken longer than compiling did, files are left alone.
inline constexpr uint32_t kMostSlowerStarts = 3;

// Whether a start from files was no gain: longer by a tenth and a millisecond, so that chance alone
// does not decide.
inline bool isSlower(double warmNs, double coldNs) { return warmNs > coldNs * 1.1 + 1e6; }

class CachedPreparation {
 public:
  CachedPreparation(CachingRequest request, std::shared_ptr<ConstantDigests> digests)
      : request_(std::move(request)), digests_(std::move(digests)) {}

  // The result of a preparation without files that has taken place already.
  struct EarlierResult {
    Result<std::shared_ptr<hal::PreparedModel>> prepared;
    std::chrono::nanoseconds took{0};
  };
  struct Part {
    ValidModel model;
    bool isWhole = true;  // of the application's model; else `operations` of `subgraph`
    uint32_t subgraph = kMainSubgraph;
    std::span<const uint32_t> operations;
    // Of this part. Not null only if whyNoFiles gives a reason.
    const EarlierResult* earlier = nullptr;
  };
  // From the files if they have it; otherwise compiled, with the files to save it in; without files
  // where there can be none. Fails only as the device's prepareModel does. The result is not null.
  Result<std::shared_ptr<hal::PreparedModel>> prepare(const Device& device, const Part& part,
                                                      const hal::PrepareOptions& options,
                                                      CacheRecord* record) const;

 private:
  CachingRequest request_;
  std::shared_ptr<ConstantDigests> digests_;
};

// The part of a step, which must outlive it.
CachedPreparation::Part partOf(const ComputeStep& step, bool isWhole);

// Why the device gets no files, whatever the model is; empty: it may get some. `caching` is null if
// the application asks for no cache.
std::string whyNoFiles(const CachedPreparation* caching, const Device& device,
                       hal::ExecutionPreference preference);

// As CachedPreparation::prepare; `caching` may be null: the application asks for no cache.
Result<std::shared_ptr<hal::PreparedModel>> preparePart(const Device& device,
                                                        const CachedPreparation* caching,
                                                        const CachedPreparation::Part& part,
                                                        const hal::PrepareOptions& options,
                                                        CacheRecord* record);

}  // namespace halyard::runtime
