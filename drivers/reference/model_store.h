// ModelStore: saves the reference driver's prepared models and loads them, as its personality says.
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
  // Without a folder for the cache's store, a message goes to standard error, and no model is saved
  // or loaded.
  ModelStore(const Personality& personality, FaultPlan& faults);

  // OP_FAILED when the model cannot be saved, or the personality declines. Errors of `files` as
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
