#include "serve/repository/repository.h"

#include <charconv>
#include <filesystem>

#include "base/log.h"

namespace halyard::serve {

Repository::Repository(ModelFolder folder, Options options)
    : folder_(std::move(folder)), options_(std::move(options)) {}

Status Repository::loadAll() {
  HALYARD_ASSIGN_OR_RETURN(const std::vector<FoundModel> models, folder_.list());
  const std::lock_guard changing(changing_);
  for (const FoundModel& model : models) {
    const Status status = loadFound(model);
    if (!status.ok()) logWarning("model '{}' is not served: {}", model.name, status.toString());
  }
  if (ready().empty()) logWarning("no model of the folder {} is served", folder_.path());
  return okStatus();
}

Result<std::map<uint64_t, std::shared_ptr<ServedModel>>> Repository::versionsToServe(
    const FoundModel& found) const {
  HALYARD_ASSIGN_OR_RETURN(const ModelConfig config, configOf(found, options_.defaults));
  std::map<uint64_t, std::string> files;
  if (config.allVersions) {
    files = found.files;
  } else if (config.versions.empty()) {
    files.insert(*found.files.rbegin());
  }
  for (const std::string& version : config.versions) {
    const auto file = found.files.find(std::stoull(version));
    if (file == found.files.end()) return badData("there is no version {}", version);
    files.insert(*file);
  }
  std::map<uint64_t, std::shared_ptr<ServedModel>> versions;
  for (const auto& [number, file] : files) {
    HALYARD_ASSIGN_OR_RETURN(
        versions[number],
        ServedModel::load({found.name, std::to_string(number), file, options_.cacheFolder},
                          config.settings));
    const ServedModel& model = *versions[number];
    if (!model.batchRefusal().empty()) {
      logWarning("model '{}' version {} is served without batches: {}", model.name(),
                 model.version(), model.batchRefusal());
    }
  }
  return versions;
}

// `changing_` is held.
Status Repository::loadFound(const FoundModel& found) {
  {
    const std::unique_lock lock(mutex_);
    entries_[found.name].loading = true;
  }
  auto versions = versionsToServe(found);
  const std::unique_lock lock(mutex_);
  Entry& entry = entries_[found.name];
  entry.loading = false;
  if (!versions.ok()) {
    entry.reason = versions.status().message();
    return versions.takeStatus();
  }
  // The earlier models are freed after the lock, because they wait for their requests.
  entry.versions.swap(*versions);
  entry.reason.clear();
  return okStatus();
}

Outcome Repository::load(const std::string& name) {
  if (!options_.mayChange) {
    return {Fault::UNSUPPORTED, "this server does not let clients load models (--model-control)"};
  }
  const std::lock_guard changing(changing_);
  const Result<FoundModel> found = folder_.find(name);
  if (!found.ok()) return {Fault::INVALID, "failed to load: " + found.status().message()};
  const Status status = loadFound(*found);
  if (!status.ok()) return {Fault::INVALID, "failed to load: " + status.message()};
  return {};
}

// `changing_` is held.
Status Repository::loadTemporary(const std::string& name, const std::string& temporary) {
  HALYARD_ASSIGN_OR_RETURN(auto versions, versionsToServe(folder_.withFile(name, temporary)));
  std::error_code error;
  const std::string file = folder_.path() + "/" + name + ".tflite";
  std::filesystem::rename(temporary, file, error);
  if (error) return opFailed("{} cannot be written: {}", file, error.message());
  const std::unique_lock lock(mutex_);
  Entry& entry = entries_[name];
  entry.versions.swap(versions);  // freed after the lock, as above
  entry.reason.clear();
  return okStatus();
}

Outcome Repository::install(const std::string& name, const std::string& temporary) {
  const std::lock_guard changing(changing_);
  const Status status = options_.mayChange
                            ? loadTemporary(name, temporary)
                            : badData("this server does not let clients install models");
  if (status.ok()) return {};
  std::error_code ignored;
  std::filesystem::remove(temporary, ignored);
  return {Fault::INVALID, "failed to load: " + status.message()};
}

Outcome Repository::unload(const std::string& name) {
  if (!options_.mayChange) {
    return {Fault::UNSUPPORTED, "this server does not let clients unload models (--model-control)"};
  }
  const std::lock_guard changing(changing_);
  std::map<uint64_t, std::shared_ptr<ServedModel>> versions;
  const std::unique_lock lock(mutex_);
  const auto entry = entries_.find(name);
  if (entry == entries_.end()) {
    return {Fault::NOT_FOUND, fmt::format("there is no model '{}' to unload", name)};
  }
  versions.swap(entry->second.versions);
  entry->second.reason = "unloaded";
  return {};
}

Result<std::vector<IndexEntry>> Repository::index(bool readyOnly) const {
  HALYARD_ASSIGN_OR_RETURN(const std::vector<FoundModel> found, folder_.list());
  std::vector<IndexEntry> index;
  const std::shared_lock lock(mutex_);
  for (const auto& [name, entry] : entries_) {
    for (const auto& [version, model] : entry.versions) {
      index.push_back({name, std::to_string(version), "READY", ""});
    }
    if (entry.versions.empty() && !readyOnly) {
      index.push_back({name, "", entry.loading ? "LOADING" : "UNAVAILABLE", entry.reason});
    }
  }
  for (const FoundModel& model : found) {
    if (!readyOnly && !entries_.contains(model.name)) {
      index.push_back(
          {model.name, std::to_string(model.files.rbegin()->first), "UNAVAILABLE", "not loaded"});
    }
  }
  return index;
}

Repository::Found Repository::find(const std::string& name, const std::string& version) const {
  const std::shared_lock lock(mutex_);
  const auto entry = entries_.find(name);
  if (entry == entries_.end()) {
    return {nullptr, {Fault::NOT_FOUND, fmt::format("there is no model '{}'", name)}};
  }
  const auto& versions = entry->second.versions;
  if (versions.empty()) {
    return {nullptr,
            {Fault::UNAVAILABLE,
             fmt::format("model '{}' is not ready: {}", name,
                         entry->second.loading ? "it is being loaded" : entry->second.reason)}};
  }
  if (version.empty()) return {versions.rbegin()->second, {}};
  uint64_t number = 0;
  const auto [end, error] =
      std::from_chars(version.data(), version.data() + version.size(), number);
  const auto found = versions.find(number);
  if (error != std::errc() || end != version.data() + version.size() || found == versions.end()) {
    return {nullptr,
            {Fault::NOT_FOUND, fmt::format("model '{}' has no version '{}'", name, version)}};
  }
  return {found->second, {}};
}

std::vector<std::string> Repository::versionsOf(const std::string& name) const {
  std::vector<std::string> versions;
  const std::shared_lock lock(mutex_);
  const auto entry = entries_.find(name);
  if (entry == entries_.end()) return versions;
  for (const auto& [version, model] : entry->second.versions) {
    versions.push_back(std::to_string(version));
  }
  return versions;
}

std::vector<std::shared_ptr<ServedModel>> Repository::ready() const {
  std::vector<std::shared_ptr<ServedModel>> models;
  const std::shared_lock lock(mutex_);
  for (const auto& [name, entry] : entries_) {
    for (const auto& [version, model] : entry.versions) models.push_back(model);
  }
  return models;
}

void Repository::stop() {
  for (const auto& model : ready()) model->stop();
}

}  // namespace halyard::serve
