// Drivers for tests through the C API: manifests of reference drivers with personalities
// (docs/reference_driver.md), and of other programs, which the process then has for devices.
// Thread safety: none. Ownership: owns the folder of the files.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

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
    const std::filesystem::path folder = folder_;
    std::string arguments;
    if (!personality.empty()) {
      std::ofstream(folder / (name + ".personality")) << personality;
      arguments = fmt::format(
          R"(, "arguments": ["--personality", "${{manifest_dir}}/{}.personality"])", name);
    }
    const std::filesystem::path manifest = folder / (name + ".json");
    std::ofstream(manifest) << fmt::format(
        R"({{"name": "{}", "version": "1", "hal_version": "{}", "executable": "{}"{}}})", name,
        version, executable, arguments);
    files_ += (files_.empty() ? "" : ":") + manifest.string();
  }
  // From the process's first call of the API on these are its drivers.
  void use() const { ::setenv("HALYARD_DRIVER_FILES", files_.c_str(), 1); }

 private:
  std::string folder_;
  std::string files_;
};

}  // namespace halyard::testing
