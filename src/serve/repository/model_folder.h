// ModelFolder: the models in a folder on disk, and their versions.
//
//   FOLDER/NAME.tflite                    version 1 of NAME
//   FOLDER/NAME/VERSION/FILE.tflite       VERSION, a number, with one model file
//   FOLDER/NAME/config.json               optional settings of NAME
//   FOLDER/NAME.json                      the same for NAME.tflite
//
// Thread safety: any thread; each call reads the disk. Ownership: results own their data.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "halyard/driver/status.h"
#include "serve/repository/model_config.h"

namespace halyard::serve {

// A model on disk.
struct FoundModel {
  std::string name;
  std::map<uint64_t, std::string> files;  // by version
  std::string config;                     // its path; empty: there is no file
  std::string folder;                     // of relative paths in the settings
};

class ModelFolder {
 public:
  explicit ModelFolder(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  // All models, by name. OP_FAILED if the folder cannot be read.
  Result<std::vector<FoundModel>> list() const;
  // BAD_DATA for a name that is no plain file name, or without a model.
  Result<FoundModel> find(const std::string& name) const;
  // The model of one version, in a file of any name, with its settings in the folder.
  FoundModel withFile(const std::string& name, const std::string& file) const;

 private:
  const std::string path_;
};

// The settings of a model and its versions to serve. Errors name the file.
Result<ModelConfig> configOf(const FoundModel& model, const ModelSettings& defaults);

// Whether a name of a model or a file is one path element, without control characters.
bool isPlainName(const std::string& name);

}  // namespace halyard::serve
