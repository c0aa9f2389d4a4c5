// Provides drivers for tests through the C API: manifests of reference drivers with personalities
// (docs/reference_driver.md), and of other programs. They become the devices of the process.
// Thread safety: none. Ownership: owns the folder of the files.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace halyard::testing {

class Manifests {
 public:
  Manifests() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "halyard-manifests-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~Manifests() { std::filesystem::remove_all(folder_); }
  Manifests(const Manifests&) = delete;
  Manifests& operator=(const Manifests&) = delete;

  // `personality`: a JSON object; empty: `executable` gets no arguments.
  void add(const std::string& name, const std::string& executable,
           const std::string& personality = "", const char* version = "1.3") {
    std::vector<std::string> arguments;
    if (!personality.empty()) {
      const std::filesystem::path folder = folder_;
      std::ofstream(folder / (name + ".personality")) << personality;
      arguments = {"--personality", "${manifest_dir}/" + name + ".personality"};
    }
    addProgram(name, executable, arguments, version);
  }
  // `arguments`: without characters that JSON must escape.
  void addProgram(const std::string& name, const std::string& executable,
                  const std::vector<std::string>& arguments, const char* version = "1.3") {
    std::string list;
    for (const std::string& argument : arguments) {
      list += (list.empty() ? "\"" : ", \"") + argument + "\"";
    }
    addManifest(name, version,
                fmt::format(R"("executable": "{}", "arguments": [{}])", executable, list));
  }
  // A driver in this process.
  void addLibrary(const std::string& name, const std::string& library,
                  const char* version = "1.3") {
    addManifest(name, version, fmt::format(R"("library": "{}")", library));
  }
  // Call it before the process's first call of the API: the manifests become its drivers.
  void use() const { ::setenv("HALYARD_DRIVER_FILES", files_.c_str(), 1); }

 private:
  void addManifest(const std::string& name, const char* version, const std::string& rest) {
    const std::filesystem::path manifest = std::filesystem::path(folder_) / (name + ".json");
    std::ofstream(manifest) << fmt::format(
        R"({{"name": "{}", "version": "1", "hal_version": "{}", {}}})", name, version, rest);
    files_ += (files_.empty() ? "" : ":") + manifest.string();
  }

  std::string folder_;
  std::string files_;
};

}  // namespace halyard::testing
