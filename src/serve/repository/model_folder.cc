#include "serve/repository/model_folder.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

namespace halyard::serve {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLongestName = 200;
constexpr size_t kMostConfigBytes = size_t{1} << 20;
constexpr size_t kMostLabelBytes = size_t{16} << 20;

std::optional<uint64_t> versionOf(const std::string& name) {
  uint64_t version = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), version);
  if (error != std::errc() || end != name.data() + name.size() || version == 0) return std::nullopt;
  return version;
}

// The entries of a folder; empty if it cannot be read.
std::vector<fs::directory_entry> entriesOf(const fs::path& folder, std::error_code& error) {
  std::vector<fs::directory_entry> entries;
  for (auto it = fs::directory_iterator(folder, error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    entries.push_back(*it);
  }
  std::ranges::sort(entries, {}, [](const auto& entry) { return entry.path(); });
  return entries;
}

void addVersions(const fs::path& folder, FoundModel& model) {
  std::error_code error;
  for (const fs::directory_entry& entry : entriesOf(folder, error)) {
    const std::optional<uint64_t> version = versionOf(entry.path().filename().string());
    if (!version || !entry.is_directory(error)) continue;
    for (const fs::directory_entry& file : entriesOf(entry.path(), error)) {
      if (file.path().extension() == ".tflite") {
        model.files.emplace(*version, file.path().string());
        break;
      }
    }
  }
}

std::string existing(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error) ? path.string() : "";
}

Result<std::string> contentOf(const std::string& path, size_t limit) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return opFailed("{} cannot be read", path);
  std::string content(limit + 1, '\0');
  file.read(content.data(), static_cast<std::streamsize>(content.size()));
  content.resize(static_cast<size_t>(file.gcount()));
  if (content.size() > limit) return badData("{} has more than {} bytes", path, limit);
  return content;
}

}  // namespace

bool isPlainName(const std::string& name) {
  return !name.empty() && name.size() <= kLongestName && name[0] != '.' &&
         std::ranges::none_of(name, [](char c) {
           return c == '/' || c == '\\' || static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
         });
}

Result<std::vector<FoundModel>> ModelFolder::list() const {
  std::error_code error;
  std::map<std::string, FoundModel> found;
  const std::vector<fs::directory_entry> entries = entriesOf(path_, error);
  if (error) return opFailed("the folder {} cannot be read: {}", path_, error.message());
  for (const fs::directory_entry& entry : entries) {
    const fs::path& path = entry.path();
    const bool isFile = path.extension() == ".tflite";
    const std::string name = isFile ? path.stem().string() : path.filename().string();
    if (!isPlainName(name)) continue;
    FoundModel model{name, {}, {}, {}};
    if (isFile) {
      model = withFile(name, path.string());
    } else if (entry.is_directory(error)) {
      addVersions(path, model);
      model.config = existing(path / "config.json");
      model.folder = path.string();
    }
    if (!model.files.empty()) found.insert_or_assign(name, std::move(model));
  }
  std::vector<FoundModel> models;
  for (auto& [name, model] : found) models.push_back(std::move(model));
  return models;
}

FoundModel ModelFolder::withFile(const std::string& name, const std::string& file) const {
  return {name, {{1, file}}, existing(fs::path(path_) / (name + ".json")), path_};
}

Result<FoundModel> ModelFolder::find(const std::string& name) const {
  if (!isPlainName(name)) return badData("'{}' is no name of a model", name);
  HALYARD_ASSIGN_OR_RETURN(std::vector<FoundModel> models, list());
  const auto found = std::ranges::find(models, name, &FoundModel::name);
  if (found == models.end()) return badData("the folder {} has no model '{}'", path_, name);
  return std::move(*found);
}

Result<ModelConfig> configOf(const FoundModel& model, const ModelSettings& defaults) {
  ModelConfig config;
  config.settings = defaults;
  if (model.config.empty()) return config;
  HALYARD_ASSIGN_OR_RETURN(const std::string text, contentOf(model.config, kMostConfigBytes));
  HALYARD_ASSIGN_OR_RETURN(config, parseModelConfig(text, defaults), "{}", model.config);
  if (config.labelsFile.empty()) return config;
  if (!isPlainName(config.labelsFile)) {
    return badData("{}: labels: '{}' is no plain file name", model.config, config.labelsFile);
  }
  HALYARD_ASSIGN_OR_RETURN(
      const std::string labels,
      contentOf((fs::path(model.folder) / config.labelsFile).string(), kMostLabelBytes), "labels");
  std::istringstream lines(labels);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    config.settings.labels.push_back(line);
  }
  return config;
}

}  // namespace halyard::serve
