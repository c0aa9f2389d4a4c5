#include "model_store.h"

#include <fmt/format.h>

#include <cstdio>

#include "pause.h"

namespace halyard::drivers {
namespace {

// Content that a faulty driver might save: of the right length, and without meaning.
void spoil(hal::CompileCache::Content& content) {
  for (auto* files : {&content.model, &content.data}) {
    for (std::vector<uint8_t>& file : *files) std::fill(file.begin(), file.end(), uint8_t{0x5a});
  }
}

hal::CompileCache::Identity identityOf(const hal::DeviceInfo& info) {
  return {info.name,
          fmt::format("{} {} {} HAL {} level {}", hal::CompileCache::buildIdOfThisProgram(),
                      hal::CompileCache::cpuFeatures(), info.versionString,
                      halVersionName(info.halVersion), static_cast<unsigned>(info.featureLevel))};
}

}  // namespace

ModelStore::ModelStore(const Personality& personality, FaultPlan& faults)
    : personality_(personality), faults_(faults) {
  const hal::DeviceInfo& info = personality.info;
  if (info.modelCacheFiles + info.dataCacheFiles == 0) return;
  auto cache = hal::CompileCache::open(identityOf(info), personality.cache.folder);
  if (cache.ok()) {
    cache_ = std::move(*cache);
  } else {
    fmt::print(stderr, "halyard: warning: driver '{}' caches nothing: {}\n", info.name,
               cache.status().message());
  }
}

Status ModelStore::save(const SavedModel& saved, const hal::CacheFiles& files, uint32_t clientUid,
                        std::stop_token cancel) {
  if (cache_ == nullptr) return opFailed("there is no store of what was saved");
  if (personality_.cache.declines) return opFailed("the personality declines to cache");
  const FaultPlan::Call call = faults_.enter(FaultPoint::SAVE, saved.model.share().get());
  HALYARD_RETURN_IF_ERROR(call.at(FaultMoment::BEFORE));
  HALYARD_RETURN_IF_ERROR(pauseFor(personality_.delays.save, {}, std::move(cancel)));
  HALYARD_ASSIGN_OR_RETURN(hal::CompileCache::Content content,
                           packModel(saved, files.modelCache.size(), files.dataCache.size()));
  if (personality_.cache.savesGarbage) spoil(content);
  HALYARD_RETURN_IF_ERROR(cache_->save(files, content, clientUid));
  HALYARD_RETURN_IF_ERROR(call.at(FaultMoment::WORK));
  (void)call.at(FaultMoment::ANSWER);
  return okStatus();
}

Result<SavedModel> ModelStore::load(const hal::CacheFiles& files,
                                    const hal::PrepareOptions& options) {
  if (cache_ == nullptr) return opFailed("there is no store of what was saved");
  if (personality_.cache.declines) return opFailed("the personality declines to cache");
  HALYARD_RETURN_IF_ERROR(pauseFor(personality_.delays.load, options.deadline, {}));
  HALYARD_ASSIGN_OR_RETURN(const hal::CompileCache::Content content,
                           cache_->load(files, options.clientUid));
  return unpackModel(content);
}

}  // namespace halyard::drivers
