// The rights that a driver's process gives up before it serves clients, as in its manifest.
// Thread safety: plain data and pure functions. Ownership: owns its data.
//
// In a manifest, "sandbox" is an object; every field is optional:
//   off       {"MEASURE": "why", ...}: measures (kMeasures) that the driver cannot work with
//   readable  files and folders that the driver reads after its start
//   writable  the same for files that it also writes, such as devices
//   limits    {"memory_bytes": N, "file_bytes": N, "threads": N}
// Relative paths are relative to the manifest's folder. System libraries, locales and time zones
// are always readable. Descriptors that are open when the driver makes its device stay usable.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "halyard/driver/status.h"

namespace halyard::hal {

// The measures in the order of their use.
inline constexpr std::array<std::string_view, 6> kMeasures = {
    "limits",        // rlimits: no core file; limits for file sizes, private memory, threads
    "not_dumpable",  // other processes of the user cannot trace it or read its memory
    "no_new_privs",  // no program can give it additional rights
    "landlock",      // files: only those of the settings; no TCP; no signals to others
    "capabilities",  // none remain, not even for root
    "seccomp",       // only system calls that a driver needs
};

struct SandboxSettings {
  static constexpr uint64_t kDefaultFileBytes = uint64_t{16} << 30;
  static constexpr uint32_t kDefaultThreads = 4096;

  std::map<std::string, std::string, std::less<>> off;  // measure, reason
  std::vector<std::string> readable;                    // absolute
  std::vector<std::string> writable;
  uint64_t memoryBytes = 0;  // private memory; 0: the machine's memory
  uint64_t fileBytes = kDefaultFileBytes;
  uint32_t threads = kDefaultThreads;  // above the number of its user's threads at the start

  bool operator==(const SandboxSettings&) const = default;
};

// BAD_DATA names the field.
Result<SandboxSettings> parseSandbox(const nlohmann::json& object,
                                     const std::filesystem::path& folder);
// Returns the object as in a manifest.
nlohmann::json sandboxJson(const SandboxSettings& settings);

// The runtime passes the settings to a driver in this environment variable, as JSON, or unset for
// the defaults. It never passes on its own variable.
inline constexpr const char* kSandboxVariable = "HALYARD_SANDBOX";
std::string sandboxText(const SandboxSettings& settings);
// "": the defaults.
Result<SandboxSettings> sandboxFromText(std::string_view text);

}  // namespace halyard::hal
