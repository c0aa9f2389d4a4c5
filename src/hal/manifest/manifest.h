// Driver manifests: JSON files that list the available drivers and the ways to reach them.
// Thread safety: pure functions over files and the environment.
// Ownership: results own their data.
//
// A manifest is an object with the fields
//   name         "vendor-name": the device's name
//   version      of the driver's package, for readers
//   hal_version  "1.0" to "1.3": the newest HAL interface to use
// and exactly one of
//   executable   a program that is started and served over an inherited socket
//   socket       the path of a Unix socket on which a service listens
//   library      a shared object for the application's own process: driver_library.h
// and optionally
//   arguments    with `executable`: a list of strings for the program; ${manifest_dir} in one
//                stands for the manifest's folder
//   execution_timeout_ms  with `executable` or `socket`: the time that the driver may take for
//                an execution or a preparation without a deadline; after it the driver counts as
//                hung; a number from 1 to 2^32 - 1
//   sandbox      the rights that the driver's process gives up: sandbox_settings.h
//   service      the clients of a driver with `socket`, and their limits: service_settings.h
// A service reads the last two fields from its manifest. Applications do not use them.
// Relative paths are relative to the manifest's folder.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "hal/manifest/sandbox_settings.h"
#include "hal/manifest/service_settings.h"
#include "halyard/driver/nnapi_types.h"
#include "halyard/driver/status.h"

namespace halyard::hal {

struct Manifest {
  enum class Kind : uint8_t { EXECUTABLE, SOCKET, LIBRARY };

  std::filesystem::path path;  // of the manifest
  std::string name;
  std::string version;
  HalVersion halVersion = HalVersion::V1_3;
  Kind kind = Kind::EXECUTABLE;
  std::string target;                  // absolute path of the executable, socket or library
  std::vector<std::string> arguments;  // of the executable, with the folder filled in
  std::optional<std::chrono::milliseconds> executionTimeout;
  SandboxSettings sandbox;
  ServiceSettings service;
};

// A manifest that is left out, and the reason.
struct ManifestProblem {
  std::filesystem::path path;
  Status status;
};

struct ManifestList {
  std::vector<Manifest> manifests;  // in the order of discovery, with unique names
  std::vector<ManifestProblem> problems;
};

// Returns BAD_DATA naming the file and the field, also for unreadable, malformed or oversized (64
// KiB) files.
Result<Manifest> loadManifest(const std::filesystem::path& path);

// Returns the manifests of the search path. It is $HALYARD_DRIVER_FILES (files separated by colons)
// alone, if set. Otherwise it is $HALYARD_ADD_DRIVER_FILES, followed by halyard/drivers.d/*.json,
// by name, in four folders. These are $XDG_CONFIG_HOME (default ~/.config), /etc, $XDG_DATA_HOME
// (default ~/.local/share) and prefix/share. A program with elevated privileges (AT_SECURE) ignores
// everything that its user could have set. It reads only /etc and prefix/share. If manifests have
// the same name, the first counts. `prefix`: the installation folder of Halyard; empty leaves it
// out.
ManifestList discoverManifests(const std::filesystem::path& prefix);

// As discoverManifests with the given environment, for tests.
struct ManifestEnvironment {
  std::string driverFiles;                     // HALYARD_DRIVER_FILES
  std::string addDriverFiles;                  // HALYARD_ADD_DRIVER_FILES
  std::vector<std::filesystem::path> folders;  // each with halyard/drivers.d
};
ManifestList discoverManifestsIn(const ManifestEnvironment& environment);

}  // namespace halyard::hal
