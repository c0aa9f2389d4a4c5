// ModelStore: saves what the reference driver has prepared, and brings it back, behaving as its
// personality says.
// Thread safety: all methods may be called from several threads at once.
// Ownership: owns its CompileCache; refers to the fault plan and the personality, which outlive it.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>

#include "fault_plan.h"
#include "halyard/driver/compile_cache.h"
#include "personality.h"
#include "saved_model.h"

namespace halyard::drivers {

class ModelStore {
 public:
  // Without a place for the cache's store, which is told on standard error, nothing is saved and
  // nothing comes back.
  ModelStore(const Personality& personality, FaultPlan& faults);

  // OP_FAILED when it cannot be saved, or the personality declines; errors of `files` as
  // CompileCache::save.
  Status save(const SavedModel& saved, const hal::CacheFiles& files, uint32_t clientUid,
              std::stop_token cancel = {});
  // OP_FAILED for any content that is not exactly the saved content.
  Result<SavedModel> load(const hal::CacheFiles& files, const hal::PrepareOptions& options);

 private:
  const Personality& personality_;
  FaultPlan& faults_;
  std::shared_ptr<hal::CompileCache> cache_;
};

}  // namespace halyard::drivers
