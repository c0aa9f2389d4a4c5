#include <android/NeuralNetworks.h>
#include <dlfcn.h>
#include <fmt/ranges.h>
#include <halyard/halyard.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "base/environment.h"
#include "base/shell_word.h"
#include "tools/halyard/doctor/checks.h"

namespace halyard::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kReinstall = "apt-get install --reinstall halyard libneuralnetworks0";
constexpr const char* kDelegate = "libhalyard_tflite_delegate.so";

// The file that has the code at `address`, without links. Empty when it is not known.
fs::path fileOf(const void* address) {
  Dl_info info{};
  if (::dladdr(address, &info) == 0) return {};
  std::error_code error;
  return fs::canonical(info.dli_fname, error);
}

// Whether the name of a library, such as libx.so.0.3.0, ends with another version than `version`.
bool hasOtherVersion(const fs::path& library, const std::string& version) {
  const std::string name = library.filename().string();
  const size_t at = name.find(".so.");
  if (at == std::string::npos) return false;
  const std::string found = name.substr(at + 4);
  return std::count(found.begin(), found.end(), '.') == 2 && found != version;
}

Finding libraryFinding(const char* name, const void* symbol, const std::string& version,
                       const std::string& text) {
  const fs::path file = fileOf(symbol);
  if (hasOtherVersion(file, version)) {
    return {FindingLevel::PROBLEM, name,
            fmt::format("{} is of another version, expected {}", file.string(), version),
            asRoot(kReinstall)};
  }
  return {FindingLevel::OK, name, fmt::format("{}, {}", text, file.string())};
}

// The versions of the library for drivers of vendors. A driver runs only with the one that it was
// built for.
Finding driverLibraryFinding(const fs::path& folder) {
  std::set<std::string> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with("libhalyard_driver.so.") && !entry->is_symlink(error)) files.insert(name);
  }
  return {FindingLevel::OK, "library for drivers of vendors",
          files.empty() ? "not installed" : fmt::format("{}", fmt::join(files, ", "))};
}

// The delegate, where it is installed. A library that cannot be loaded, or that lacks its function,
// is a problem.
Finding delegateFinding(const fs::path& folder) {
  fs::path file = folder / kDelegate;
  std::error_code error;
  if (!fs::exists(file, error)) file += ".0";
  if (!fs::exists(file, error)) {
    return {FindingLevel::OK, "TensorFlow Lite delegate", "not installed"};
  }
  const std::string reinstall = asRoot("apt-get install --reinstall halyard-tflite-delegate");
  void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return {FindingLevel::PROBLEM, "TensorFlow Lite delegate",
            fmt::format("it cannot be loaded: {}", ::dlerror()), reinstall};
  }
  if (::dlsym(library, "tflite_plugin_create_delegate") == nullptr) {
    return {FindingLevel::PROBLEM, "TensorFlow Lite delegate",
            fmt::format("{} has no function tflite_plugin_create_delegate", file.string()),
            reinstall};
  }
  return {FindingLevel::OK, "TensorFlow Lite delegate", "loads, " + file.string()};
}

// "0.3.0" from the metadata of the package in `folder`. Empty without metadata.
std::string pythonVersionIn(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with("halyard-") || !name.ends_with(".dist-info")) continue;
    std::ifstream metadata(entry->path() / "METADATA");
    constexpr std::string_view kField = "Version: ";
    for (std::string line; std::getline(metadata, line) && !line.empty();) {
      if (line.starts_with(kField)) return line.substr(kField.size());
    }
  }
  return {};
}

// `prefix`: of this installation. A wheel has its prefix within the package.
Finding pythonFinding(const fs::path& prefix, const std::string& version) {
  std::error_code error;
  for (const fs::path& package :
       {prefix.parent_path(), prefix / "lib/python3/dist-packages/halyard"}) {
    if (!fs::exists(package / "litert.py", error)) continue;
    const std::string found = pythonVersionIn(package.parent_path());
    if (!found.empty() && found != version) {
      return {FindingLevel::PROBLEM, "Python package",
              fmt::format("{} is version {}, expected {}", package.string(), found, version),
              asRoot("apt-get install --reinstall python3-halyard")};
    }
    return {FindingLevel::OK, "Python package",
            fmt::format("version {}, {}", found.empty() ? "unknown" : found, package.string())};
  }
  return {FindingLevel::OK, "Python package", "not installed beside this program"};
}

// A setting of the environment that changes which drivers are found.
void addVariables(std::vector<Finding>& findings) {
  for (const char* name : {"HALYARD_DRIVER_FILES", "HALYARD_ADD_DRIVER_FILES",
                           "HALYARD_REQUIRE_DEVICE", "HALYARD_PARTITION"}) {
    const char* const value = environmentVariable(name);
    if (value == nullptr) continue;
    findings.push_back({FindingLevel::OK, name, fmt::format("set to '{}'", value)});
  }
}

}  // namespace

FindingSection checkInstallation() {
  FindingSection section{"installation", {}};
  std::vector<Finding>& findings = section.findings;
  const std::string version = halyard_version();
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (version == HALYARD_VERSION) {
    findings.push_back({FindingLevel::OK, "halyard",
                        fmt::format("version {}, {}", HALYARD_VERSION, program.string())});
  } else {
    findings.push_back(
        {FindingLevel::PROBLEM, "halyard",
         fmt::format("the program is version {}, libhalyard.so is {}", HALYARD_VERSION, version),
         asRoot(kReinstall)});
  }
  const auto* const runtime =
      reinterpret_cast<const void*>(&ANeuralNetworks_getRuntimeFeatureLevel);
  const auto* const own = reinterpret_cast<const void*>(&halyard_version);
  findings.push_back(libraryFinding("libhalyard.so", own, version, "version " + version));
  findings.push_back(
      libraryFinding("libneuralnetworks.so", runtime, version,
                     fmt::format("feature level {}", ANeuralNetworks_getRuntimeFeatureLevel())));
  const fs::path folder = fileOf(runtime).parent_path();
  if (folder != fileOf(own).parent_path()) {
    findings.push_back({FindingLevel::WARNING, "libraries",
                        "libhalyard.so and libneuralnetworks.so are in different folders",
                        "ldd " + shellWord(program.string())});
  }
  for (const char* name : {"halyard-kit", "halyard-serve"}) {
    const fs::path other = program.parent_path() / name;
    findings.push_back(
        {FindingLevel::OK, name, fs::exists(other, error) ? other.string() : "not installed"});
  }
  findings.push_back(driverLibraryFinding(folder));
  findings.push_back(delegateFinding(folder));
  findings.push_back(pythonFinding(program.parent_path().parent_path(), version));
  addVariables(findings);
  return section;
}

}  // namespace halyard::cli
