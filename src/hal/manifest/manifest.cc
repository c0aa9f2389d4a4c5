#include "hal/manifest/manifest.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <set>

#include "base/environment.h"
#include "halyard/driver/unique_fd.h"

namespace halyard::hal {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr size_t kMaxManifestBytes = 64 * 1024;
constexpr size_t kMaxNameBytes = 128;
constexpr size_t kMaxArguments = 64;
constexpr std::string_view kExecutionTimeout = "execution_timeout_ms";
constexpr std::array<std::string_view, 3> kTargets = {"executable", "socket", "library"};

Result<std::string> readSmallFile(const fs::path& path) {
  // O_NONBLOCK, so that opening a FIFO does not block the application.
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return errnoStatus(ResultCode::BAD_DATA, errno, "cannot be opened");
  struct stat st {};
  if (::fstat(fd.get(), &st) != 0) return errnoStatus(ResultCode::BAD_DATA, errno, "fstat");
  if (!S_ISREG(st.st_mode)) return badData("is not a regular file");
  std::string text(kMaxManifestBytes + 1, '\0');
  size_t size = 0;
  while (size < text.size()) {
    const ssize_t count = ::read(fd.get(), text.data() + size, text.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errnoStatus(ResultCode::BAD_DATA, errno, "cannot be read");
    if (count == 0) break;
    size += static_cast<size_t>(count);
  }
  if (size > kMaxManifestBytes) return badData("is larger than {} bytes", kMaxManifestBytes);
  text.resize(size);
  return text;
}

Result<std::string> stringField(const Json& object, std::string_view field) {
  const auto it = object.find(field);
  if (it == object.end()) return badData("field '{}' is missing", field);
  const auto* text = it->get_ptr<const Json::string_t*>();
  if (text == nullptr) return badData("field '{}' is a {}, not a string", field, it->type_name());
  if (text->empty()) return badData("field '{}' is empty", field);
  if (text->find('\0') != std::string::npos) return badData("field '{}' has a zero byte", field);
  return *text;
}

// NNAPI's rule for service names: {vendor}-{name}.
Status checkName(const std::string& name) {
  if (name.size() > kMaxNameBytes) return badData("name has more than {} bytes", kMaxNameBytes);
  const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
  if (!plain) return badData("name '{}' has characters other than letters, digits and -_.", name);
  if (std::count(name.begin(), name.end(), '-') != 1 || name.front() == '-' || name.back() == '-') {
    return badData("name '{}' is not of the form vendor-name, with one '-'", name);
  }
  return okStatus();
}

// Replaces ${manifest_dir} in the text. Refuses other uses of ${, so that a misspelt one does not
// reach the driver.
Result<std::string> withFolder(std::string text, const std::string& folder) {
  constexpr std::string_view kFolder = "${manifest_dir}";
  size_t at = 0;
  while ((at = text.find("${", at)) != std::string::npos) {
    if (text.compare(at, kFolder.size(), kFolder) != 0) {
      return badData("'{}' has a ${{...}} other than {}", text, kFolder);
    }
    text.replace(at, kFolder.size(), folder);
    at += folder.size();
  }
  return text;
}

Result<std::vector<std::string>> argumentsField(const Json& object, const fs::path& folder) {
  const auto it = object.find("arguments");
  std::vector<std::string> arguments;
  if (it == object.end()) return arguments;
  if (!it->is_array()) {
    return badData("field 'arguments' is a {}, not a list of strings", it->type_name());
  }
  if (it->size() > kMaxArguments) {
    return badData("field 'arguments' has {} entries, at most {}", it->size(), kMaxArguments);
  }
  for (size_t i = 0; i < it->size(); ++i) {
    const auto* text = (*it)[i].get_ptr<const Json::string_t*>();
    if (text == nullptr) {
      return badData("arguments[{}] is a {}, not a string", i, (*it)[i].type_name());
    }
    if (text->find('\0') != std::string::npos) return badData("arguments[{}] has a zero byte", i);
    HALYARD_ASSIGN_OR_RETURN(std::string filled, withFolder(*text, folder.string()),
                             "arguments[{}]", i);
    arguments.push_back(std::move(filled));
  }
  return arguments;
}

Result<std::optional<std::chrono::milliseconds>> executionTimeoutField(const Json& object,
                                                                       Manifest::Kind kind) {
  const auto it = object.find(kExecutionTimeout);
  if (it == object.end()) return std::optional<std::chrono::milliseconds>();
  if (kind == Manifest::Kind::LIBRARY) {
    return badData("field '{}' is for drivers with a process of their own", kExecutionTimeout);
  }
  const auto* const number = it->get_ptr<const Json::number_unsigned_t*>();
  if (number == nullptr || *number == 0 || *number > UINT32_MAX) {
    return badData("field '{}' is {}, expected a number from 1 to {}", kExecutionTimeout,
                   it->dump(-1, ' ', true, Json::error_handler_t::replace), UINT32_MAX);
  }
  return std::optional(std::chrono::milliseconds(*number));
}

Result<Manifest> parseManifest(const Json& object, const fs::path& path) {
  if (!object.is_object()) return badData("is a JSON {}, not an object", object.type_name());
  Manifest manifest;
  manifest.path = path;
  HALYARD_ASSIGN_OR_RETURN(manifest.name, stringField(object, "name"));
  HALYARD_RETURN_IF_ERROR(checkName(manifest.name));
  HALYARD_ASSIGN_OR_RETURN(manifest.version, stringField(object, "version"));
  HALYARD_ASSIGN_OR_RETURN(const std::string halVersion, stringField(object, "hal_version"));
  const auto version = halVersionFromName(halVersion);
  if (!version) return badData("hal_version '{}' is not one of 1.0, 1.1, 1.2, 1.3", halVersion);
  manifest.halVersion = *version;

  std::string target;
  for (size_t i = 0; i < kTargets.size(); ++i) {
    if (!object.contains(kTargets[i])) continue;
    if (!target.empty()) return badData("more than one of executable, socket, library is given");
    HALYARD_ASSIGN_OR_RETURN(target, stringField(object, kTargets[i]));
    manifest.kind = static_cast<Manifest::Kind>(i);
  }
  if (target.empty()) return badData("none of executable, socket, library is given");
  manifest.target = (path.parent_path() / target).lexically_normal().string();

  if (const auto sandbox = object.find("sandbox"); sandbox != object.end()) {
    if (manifest.kind == Manifest::Kind::LIBRARY) {
      return badData("field 'sandbox' is for drivers with a process of their own");
    }
    HALYARD_ASSIGN_OR_RETURN(manifest.sandbox, parseSandbox(*sandbox, path.parent_path()));
  }
  if (const auto service = object.find("service"); service != object.end()) {
    if (manifest.kind != Manifest::Kind::SOCKET) {
      return badData("field 'service' is for drivers with a 'socket'");
    }
    HALYARD_ASSIGN_OR_RETURN(manifest.service, parseService(*service));
  }

  HALYARD_ASSIGN_OR_RETURN(manifest.executionTimeout, executionTimeoutField(object, manifest.kind));
  HALYARD_ASSIGN_OR_RETURN(manifest.arguments, argumentsField(object, path.parent_path()));
  if (manifest.kind != Manifest::Kind::EXECUTABLE && object.contains("arguments")) {
    return badData("field 'arguments' goes with 'executable' only");
  }

  for (const auto& [field, value] : object.items()) {
    if (field != "name" && field != "version" && field != "hal_version" && field != "sandbox" &&
        field != "arguments" && field != "service" && field != kExecutionTimeout &&
        std::find(kTargets.begin(), kTargets.end(), field) == kTargets.end()) {
      return badData("field '{}' is unknown", field);
    }
  }
  return manifest;
}

// Adds the manifest, or the reason for leaving it out.
void add(ManifestList& list, std::set<fs::path>& seen, const fs::path& path) {
  if (!seen.insert(path).second) return;  // a repeated path is not a problem
  Result<Manifest> manifest = loadManifest(path);
  if (!manifest.ok()) {
    list.problems.push_back({path, manifest.takeStatus()});
    return;
  }
  for (const Manifest& other : list.manifests) {
    if (other.name == manifest->name) {
      list.problems.push_back({path, badData("{}: a driver named '{}' is there already, from {}",
                                             path.string(), other.name, other.path.string())});
      return;
    }
  }
  list.manifests.push_back(std::move(*manifest));
}

void addFiles(ManifestList& list, std::set<fs::path>& seen, std::string_view files) {
  while (!files.empty()) {
    const size_t colon = files.find(':');
    const std::string_view file = files.substr(0, colon);
    std::error_code error;
    if (!file.empty()) add(list, seen, fs::absolute(file, error).lexically_normal());
    files.remove_prefix(colon == std::string_view::npos ? files.size() : colon + 1);
  }
}

void addFolder(ManifestList& list, std::set<fs::path>& seen, const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> paths;
  fs::directory_iterator it(folder, fs::directory_options::none, error);
  if (error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory) return;
  while (!error && it != fs::directory_iterator()) {
    if (it->path().extension() == ".json") paths.push_back(it->path().lexically_normal());
    it.increment(error);
  }
  if (error) {
    list.problems.push_back(
        {folder, badData("{}: cannot be listed: {}", folder.string(), error.message())});
  }
  std::sort(paths.begin(), paths.end());
  for (const fs::path& path : paths) add(list, seen, path);
}

std::string environmentValue(const char* name) {
  const char* value = environmentVariable(name);
  return value != nullptr ? value : "";
}

// Returns an XDG folder, or its default under the home folder. A relative path counts as unset.
fs::path xdgFolder(const char* name, const char* underHome) {
  const fs::path folder = environmentValue(name);
  if (folder.is_absolute()) return folder;
  const fs::path home = environmentValue("HOME");
  return home.is_absolute() ? home / underHome : fs::path();
}

}  // namespace

Result<Manifest> loadManifest(const fs::path& given) {
  std::error_code error;
  const fs::path path = fs::absolute(given, error);
  HALYARD_ASSIGN_OR_RETURN(const std::string text, readSmallFile(path), "{}", path.string());
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return badData("{}: is not valid JSON", path.string());
  HALYARD_ASSIGN_OR_RETURN(Manifest manifest, parseManifest(json, path), "{}", path.string());
  return manifest;
}

ManifestList discoverManifestsIn(const ManifestEnvironment& environment) {
  ManifestList list;
  std::set<fs::path> seen;
  if (!environment.driverFiles.empty()) {
    addFiles(list, seen, environment.driverFiles);
    return list;
  }
  addFiles(list, seen, environment.addDriverFiles);
  for (const fs::path& folder : environment.folders) {
    if (!folder.empty()) addFolder(list, seen, folder / "halyard" / "drivers.d");
  }
  return list;
}

ManifestList discoverManifests(const fs::path& prefix) {
  ManifestEnvironment environment;
  environment.driverFiles = environmentValue("HALYARD_DRIVER_FILES");
  environment.addDriverFiles = environmentValue("HALYARD_ADD_DRIVER_FILES");
  environment.folders.push_back(xdgFolder("XDG_CONFIG_HOME", ".config"));
  environment.folders.emplace_back("/etc");
  environment.folders.push_back(xdgFolder("XDG_DATA_HOME", ".local/share"));
  if (!prefix.empty()) environment.folders.push_back(prefix / "share");
  return discoverManifestsIn(environment);
}

}  // namespace halyard::hal
