// Repository: the models that the server has loaded, by name and version.
// Thread safety: any thread.
// Ownership: shares each model with its users, so a model that is unloaded still answers the
// requests that it has.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include "serve/protocol/outcome.h"
#include "serve/repository/model_folder.h"
#include "serve/scheduling/served_model.h"

namespace halyard::serve {

struct IndexEntry {
  std::string name;
  std::string version;
  std::string state;   // READY, LOADING or UNAVAILABLE
  std::string reason;  // of a model that is not ready
};

class Repository {
 public:
  struct Options {
    ModelSettings defaults;
    std::string cacheFolder;  // of compilations; empty: no cache
    bool mayChange = false;   // clients may load and unload
  };
  Repository(ModelFolder folder, Options options);

  // Loads all models of the folder. A model that fails is in the index with the reason. OP_FAILED
  // if the folder cannot be read.
  Status loadAll();

  // Loads a model, or loads it again. The earlier one serves until the new one is ready, and also
  // if the new one fails. Blocks. UNSUPPORTED unless clients may change the repository.
  Outcome load(const std::string& name);
  // Loads version 1 of a model from a temporary file in the folder of models. After a success the
  // file gets the name NAME.tflite. After a failure it is removed, and nothing else changes.
  Outcome install(const std::string& name, const std::string& temporary);
  // Takes a model out. Requests that it has are still answered.
  Outcome unload(const std::string& name);

  // All models of the folder, and those that are loaded.
  Result<std::vector<IndexEntry>> index(bool readyOnly) const;

  struct Found {
    std::shared_ptr<ServedModel> model;  // null after a failure
    Outcome outcome;                     // NOT_FOUND, or UNAVAILABLE with the reason
  };
  // An empty version is the newest one.
  Found find(const std::string& name, const std::string& version) const;
  // The versions of a model that are ready, ascending.
  std::vector<std::string> versionsOf(const std::string& name) const;
  // All models that are ready.
  std::vector<std::shared_ptr<ServedModel>> ready() const;

  // Refuses further requests to all models, and waits until all others are answered.
  void stop();

 private:
  struct Entry {
    std::map<uint64_t, std::shared_ptr<ServedModel>> versions;
    std::string reason;  // why the last load failed, or "unloaded"
    bool loading = false;
  };
  Status loadFound(const FoundModel& found);
  Status loadTemporary(const std::string& name, const std::string& temporary);
  Result<std::map<uint64_t, std::shared_ptr<ServedModel>>> versionsToServe(
      const FoundModel& found) const;

  const ModelFolder folder_;
  const Options options_;
  std::mutex changing_;  // held for a whole load
  mutable std::shared_mutex mutex_;
  std::map<std::string, Entry> entries_;
};

}  // namespace halyard::serve
