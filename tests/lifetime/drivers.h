// Provides the devices of these tests: the runtime's own, drivers in processes of their own, and
// one in the application's process. Thread safety: none. Ownership: a folder with the manifest,
// until the process exits.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace halyard::lifetime {

inline const std::vector<std::string> kDevices = {"halyard-reference", "halyard-cpu",
                                                  "nnapi-reference"};
inline const std::vector<std::string> kDriverProcesses = {"halyard-reference"};

// Call it before the process's first call of the API. `reference`: a program; `cpu`: a library.
class Drivers {
 public:
  Drivers(const std::string& reference, const std::string& cpu) {
    std::string pattern = (std::filesystem::temp_directory_path() / "halyard-lifetime-XXXXXX");
    folder_ = ::mkdtemp(pattern.data());
    const std::string files = write("halyard-reference", "executable", reference) + ":" +
                              write("halyard-cpu", "library", cpu);
    ::setenv("HALYARD_DRIVER_FILES", files.c_str(), 1);
  }
  ~Drivers() { std::filesystem::remove_all(folder_); }
  Drivers(const Drivers&) = delete;
  Drivers& operator=(const Drivers&) = delete;

  const std::string& folder() const { return folder_; }

 private:
  std::string write(const std::string& name, const std::string& kind, const std::string& target) {
    const std::string path = folder_ + "/" + name + ".json";
    std::ofstream(path) << "{\"name\": \"" << name << "\", \"version\": \"1\", \"hal_version\": "
                        << "\"1.3\", \"" << kind << "\": \"" << target << "\"}";
    return path;
  }
  std::string folder_;
};

}  // namespace halyard::lifetime
