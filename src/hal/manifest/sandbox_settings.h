// What a driver's process gives up before it serves anybody, as its manifest has it.
// Thread safety: plain data and pure functions. Ownership: owns its data.
//
// In a manifest, "sandbox" is an object; every field may be left out:
//   off       {"MEASURE": "why", ...}: measures (kMeasures) that the driver cannot bear
//   readable  files and folders that the driver reads after its start
//   writable  the same for what it writes too, devices for instance
//   limits    {"memory_bytes": N, "file_bytes": N, "threads": N}
// Relative paths are relative to the manifest's folder. System libraries, locales and time zones
// are always readable; what the driver has open when its device is made stays usable.
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

// The measures, in the order in which they are taken.
inline constexpr std::array<std::string_view, 6> kMeasures = {
    "limits",        // rlimits: no core file, sizes of files, private memory, threads
    "not_dumpable",  // other processes of the user cannot trace it or read its memory
    "no_new_privs",  // no program gives it rights that it has not
    "landlock",      // files: what the settings name; no TCP; no signals to others
    "capabilities",  // none is left, not even to root
    "seccomp",       // only system calls that a driver needs
};

struct SandboxSettings {
  static constexpr uint64_t kDefaultFileBytes = uint64_t{16} << 30;
  static constexpr uint32_t kDefaultThreads = 4096;

  std::map<std::string, std::string, std::less<>> off;  // measure, reason
  std::vector<std::string> readable;                    // absolute
  std::vector<std::string> writable;
  uint64_t memoryBytes = 0;  // of private memory; 0: as much as the machine has
  uint64_t fileBytes = kDefaultFileBytes;
  uint32_t threads = kDefaultThreads;  // more than its user's processes have when it starts

  bool operator==(const SandboxSettings&) const = default;
};

// BAD_DATA naming the field.
Result<SandboxSettings> parseSandbox(const nlohmann::json& object,
                                     const std::filesystem::path& folder);
// As a manifest has it.
nlohmann::json sandboxJson(const SandboxSettings& settings);

// How the runtime hands the settings to a driver that it starts: an environment variable with the
// object as JSON, or none for the defaults. The runtime never passes on its own.
inline constexpr const char* kSandboxVariable = "HALYARD_SANDBOX";
std::string sandboxText(const SandboxSettings& settings);
// "": the defaults.
Result<SandboxSettings> sandboxFromText(std::string_view text);

}  // namespace halyard::hal
