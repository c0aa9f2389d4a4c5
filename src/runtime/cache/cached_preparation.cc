// Prepares models with a cache hit, with a cache miss, or without a cache.
#include "runtime/cache/cached_preparation.h"

#include <utility>

#include "base/log.h"

namespace halyard::runtime {
namespace {

using PreparedPtr = std::shared_ptr<hal::PreparedModel>;

std::string_view preferenceText(hal::ExecutionPreference preference) {
  switch (preference) {
    case hal::ExecutionPreference::LOW_POWER:
      return "low power";
    case hal::ExecutionPreference::FAST_SINGLE_ANSWER:
      return "a fast single answer";
    case hal::ExecutionPreference::SUSTAINED_SPEED:
      return "sustained speed";
  }
  return "this preference";
}

// Adds the duration of its lifetime to a sum, in nanoseconds.
class Stage {
 public:
  explicit Stage(double* sum) : sum_(sum), begin_(hal::Clock::now()) {}
  ~Stage() {
    *sum_ += std::chrono::duration<double, std::nano>(hal::Clock::now() - begin_).count();
  }
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

 private:
  double* const sum_;
  const hal::TimePoint begin_;
};

// A driver may return OK without a prepared model.
Result<PreparedPtr> notNull(Result<PreparedPtr> prepared) {
  if (prepared.ok() && *prepared == nullptr) {
    return opFailed("it answered without a prepared model");
  }
  return prepared;
}

Result<PreparedPtr> compile(const Device& device, const ValidModel& model,
                            hal::PrepareOptions options,
                            std::shared_ptr<const hal::CacheFiles> files, CacheRecord* record) {
  options.cache = std::move(files);
  const Stage stage(&record->compileNs);
  return notNull(device.hal().prepareModel(model, options));
}

Result<PreparedPtr> withoutFiles(const Device& device, const CachedPreparation::Part& part,
                                 const hal::PrepareOptions& options, CacheRecord* record) {
  if (part.earlier == nullptr) return compile(device, part.model, options, nullptr, record);
  record->compileNs = std::chrono::duration<double, std::nano>(part.earlier->took).count();
  return notNull(part.earlier->prepared);
}

Status checkOperands(const Model& expected, const std::vector<uint32_t>& expectedIndexes,
                     const Model& found, const std::vector<uint32_t>& foundIndexes,
                     std::string_view what) {
  if (expectedIndexes.size() != foundIndexes.size()) {
    return opFailed("it has {} {}s, expected {}", foundIndexes.size(), what,
                    expectedIndexes.size());
  }
  for (size_t i = 0; i < foundIndexes.size(); ++i) {
    if (foundIndexes[i] >= found.main.operands.size()) {
      return opFailed("its {} {} is operand #{} of {}", what, i, foundIndexes[i],
                      found.main.operands.size());
    }
    const Operand& mine = expected.main.operands[expectedIndexes[i]];
    const Operand& its = found.main.operands[foundIndexes[i]];
    if (mine.type != its.type || mine.dimensions != its.dimensions) {
      return opFailed("its {} {} is {}{}, expected {}{}", what, i, operandTypeName(its.type),
                      shapeText(its.dimensions), operandTypeName(mine.type),
                      shapeText(mine.dimensions));
    }
  }
  return okStatus();
}

// Inputs and outputs of the driver's model must agree with those of the model.
Status checkInterface(const Model& model, const hal::CachedModel& cached) {
  if (cached.prepared == nullptr) return opFailed("it answered without a prepared model");
  if (cached.interface == nullptr) return okStatus();
  HALYARD_RETURN_IF_ERROR(checkOperands(model, model.main.inputIndexes, *cached.interface,
                                        cached.interface->main.inputIndexes, "input"));
  return checkOperands(model, model.main.outputIndexes, *cached.interface,
                       cached.interface->main.outputIndexes, "output");
}

// One preparation of one part.
class Attempt {
 public:
  Attempt(const Device& device, const ValidModel& model, const hal::PrepareOptions& options,
          CacheRecord* record)
      : device_(device), model_(model), options_(options), record_(*record) {}

  Result<PreparedPtr> withFolder(const std::string& folder, const hal::Token& key) {
    const hal::DeviceInfo& info = device_.info();
    Result<std::unique_ptr<CacheSet>> set = std::unique_ptr<CacheSet>();
    Result<std::optional<OpenedCache>> found = std::optional<OpenedCache>();
    {
      const Stage stage(&record_.openNs);
      set =
          CacheSet::open(folder, key, info.modelCacheFiles, info.dataCacheFiles, options_.deadline);
      if (set.ok()) found = (*set)->openFiles();
    }
    if (!set.ok()) return withoutFiles(key, set.status().message());
    if (!found.ok()) return withoutFiles(key, found.status().message());
    record_.reason = "there are no files for it yet";
    if (*found && (*found)->bytes == 0) {
      record_.reason = "the driver has saved nothing in its files";
    } else if (*found) {
      if (isNoGain(**found)) return withoutCaching(**found);
      if (PreparedPtr prepared = load(**found)) return prepared;
    }
    return replace(**set, key);
  }

  // The application provides one set of files. The model is loaded from it, or saved to it.
  Result<PreparedPtr> withDescriptors(const CachingRequest::Descriptors& descriptors,
                                      const hal::Token& key) {
    auto files = std::make_shared<hal::CacheFiles>();
    files->token = key;
    for (const UniqueFd& fd : descriptors.modelCache) {
      files->modelCache.push_back(fd.duplicate());
      if (!files->modelCache.back().valid()) return withoutFiles(key, "no descriptor is left");
    }
    for (const UniqueFd& fd : descriptors.dataCache) {
      files->dataCache.push_back(fd.duplicate());
      if (!files->dataCache.back().valid()) return withoutFiles(key, "no descriptor is left");
    }
    OpenedCache opened{files, sizeOf(*files), timesOf(*files)};
    if (opened.bytes == 0) {
      record_.reason = "the application's files are empty";
    } else {
      if (isNoGain(opened)) return withoutCaching(opened);
      if (PreparedPtr prepared = load(opened)) return prepared;
    }
    return compileInto(files);
  }

  // As in NNAPI, the driver gets the token even without files.
  Result<PreparedPtr> withoutFiles(const hal::Token& key, std::string reason) {
    record_.state = CacheRecord::State::OFF;
    record_.reason = std::move(reason);
    auto files = std::make_shared<hal::CacheFiles>();
    files->token = key;
    return compile(device_, model_, options_, std::move(files), &record_);
  }

 private:
  static bool isNoGain(const OpenedCache& opened) {
    return opened.times && opened.times->slower >= kMostSlowerStarts;
  }

  Result<PreparedPtr> withoutCaching(const OpenedCache& opened) {
    record_.reason = fmt::format(
        "the last {} starts from the files have taken longer than compiling: {:.1f} ms rather than "
        "{:.1f} ms",
        opened.times->slower, opened.times->warmNs / 1e6, opened.times->coldNs / 1e6);
    return compile(device_, model_, options_, nullptr, &record_);
  }

  // Null, with the reason in the record, when the driver cannot load the model from the files.
  PreparedPtr load(const OpenedCache& opened) {
    hal::PrepareOptions options = options_;
    options.cache = opened.files;
    Status status;
    PreparedPtr prepared;
    {
      const Stage stage(&record_.loadNs);
      Result<hal::CachedModel> cached = device_.hal().prepareModelFromCache(model_, options);
      status = cached.ok() ? checkInterface(*model_, *cached) : cached.takeStatus();
      if (status.ok()) prepared = std::move(cached->prepared);
    }
    if (prepared == nullptr) {
      // Waits for the restart of the driver, which must compile the model. An error here is not
      // reported, because the compilation reports it again.
      if (status.code() == ResultCode::DEAD_OBJECT) (void)device_.hal().wait();
      record_.reason = fmt::format("the driver does not take the files: {}", status.toString());
      return nullptr;
    }
    record_.state = CacheRecord::State::HIT;
    record_.reason.clear();
    record_.bytesRead = opened.bytes;
    learn(opened);
    return prepared;
  }

  // Writes the times only in two cases: for the first load, and when the number of slow loads
  // changes.
  void learn(const OpenedCache& opened) const {
    if (!opened.times) return;
    CacheTimes times = *opened.times;
    const bool wasKnown = times.warmNs > 0;
    // openNs is left out. Opening is fast, except for a wait for another process that compiles the
    // same model.
    times.warmNs = record_.keyNs + record_.loadNs;
    times.slower = isSlower(times.warmNs, times.coldNs) ? times.slower + 1 : 0;
    if (!wasKnown || times.slower != opened.times->slower) setTimes(*opened.files, times);
  }

  Result<PreparedPtr> replace(CacheSet& set, const hal::Token& key) {
    Result<std::shared_ptr<const hal::CacheFiles>> files = std::shared_ptr<const hal::CacheFiles>();
    {
      const Stage stage(&record_.openNs);
      files = set.replace();
    }
    if (!files.ok()) return withoutFiles(key, files.status().message());
    // Another thread or process may have saved the model during the wait.
    if (set.hasChanged()) {
      const Result<std::optional<OpenedCache>> now = set.openFiles();
      if (now.ok() && *now) {
        if (PreparedPtr prepared = load(**now)) return prepared;
      }
    }
    HALYARD_ASSIGN_OR_RETURN(PreparedPtr prepared, compileInto(*files));
    const Stage stage(&record_.saveNs);
    const Status status = set.publish();
    if (!status.ok()) {
      record_.state = CacheRecord::State::OFF;
      record_.reason += fmt::format("; what was saved could not be kept: {}", status.message());
    }
    return prepared;
  }

  Result<PreparedPtr> compileInto(const std::shared_ptr<const hal::CacheFiles>& files) {
    HALYARD_ASSIGN_OR_RETURN(PreparedPtr prepared,
                             compile(device_, model_, options_, files, &record_));
    record_.state = CacheRecord::State::MISS;
    record_.bytesWritten = sizeOf(*files);
    // A driver that has not written to the files yet may not have compiled yet.
    if (record_.bytesWritten != 0) setTimes(*files, {record_.compileNs, 0, 0});
    return prepared;
  }

  const Device& device_;
  const ValidModel& model_;
  const hal::PrepareOptions& options_;
  CacheRecord& record_;
};

}  // namespace

std::string whyNoFiles(const CachedPreparation* caching, const Device& device,
                       hal::ExecutionPreference preference) {
  if (caching == nullptr) return "the application has asked for none";
  if (device.isCpu()) return "the runtime's own device has nothing to save";
  const hal::DeviceInfo& info = device.info();
  if (info.modelCacheFiles == 0 && info.dataCacheFiles == 0) {
    return "the driver needs no files: it does not cache";
  }
  if (!hal::savesFor(info, preference)) {
    return fmt::format("the driver saves nothing that it compiles for {}",
                       preferenceText(preference));
  }
  return {};
}

Result<PreparedPtr> CachedPreparation::prepare(const Device& device, const Part& part,
                                               const hal::PrepareOptions& options,
                                               CacheRecord* record) const {
  *record = {};
  Attempt attempt(device, part.model, options, record);
  const hal::DeviceInfo& info = device.info();
  record->reason = whyNoFiles(this, device, options.preference);
  if (!record->reason.empty()) return withoutFiles(device, part, options, record);
  Result<hal::Token> key = hal::Token{};
  {
    const Stage stage(&record->keyNs);
    CacheKeyParts parts;
    parts.application = request_.token;
    parts.subgraph = part.subgraph;
    if (!part.isWhole) parts.operations = part.operations;
    parts.model = &*part.model;
    parts.device = &info;
    parts.preference = options.preference;
    parts.priority = options.priority;
    parts.attributes = &options.attributes;
    parts.processor = processorText();
    key = cacheKey(parts, *digests_);
  }
  if (!key.ok()) {
    record->reason = fmt::format("the model has no digest: {}", key.status().message());
    return compile(device, part.model, options, nullptr, record);
  }
  if (request_.descriptors == nullptr) return attempt.withFolder(request_.folder, *key);
  if (!part.isWhole) {
    return attempt.withoutFiles(*key, "the model is prepared in parts, and the files are for one");
  }
  return attempt.withDescriptors(*request_.descriptors, *key);
}

CachedPreparation::Part partOf(const ComputeStep& step, bool isWhole) {
  return {step.model, isWhole, step.subgraph, step.operations};
}

Result<PreparedPtr> preparePart(const Device& device, const CachedPreparation* caching,
                                const CachedPreparation::Part& part,
                                const hal::PrepareOptions& options, CacheRecord* record) {
  if (caching == nullptr) {
    *record = {};
    record->reason = whyNoFiles(caching, device, options.preference);
    return withoutFiles(device, part, options, record);
  }
  Result<PreparedPtr> prepared = caching->prepare(device, part, options, record);
  if (prepared.ok()) {
    logInfo("compilation: cache of device {}: {}{}{}", device.name(), cacheStateName(record->state),
            record->reason.empty() ? "" : ": ", record->reason);
  }
  return prepared;
}

}  // namespace halyard::runtime
