#include <halyard/halyard.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/shell_word.h"
#include "hal/manifest/isolation_measure.h"
#include "hal/manifest/manifest.h"
#include "tools/halyard/doctor/checks.h"

namespace halyard::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using State = hal::IsolationMeasure::State;

std::string textOf(const Json& object, const char* key) { return object.value(key, std::string()); }

// Takes the manifest off the search path, which has *.json only.
std::string takeAway(const std::string& manifest) {
  const std::string command =
      fmt::format("mv {} {}", shellWord(manifest), shellWord(manifest + ".off"));
  const std::string folder = fs::path(manifest).parent_path().string();
  return ::access(folder.c_str(), W_OK) == 0 ? command : asRoot(command);
}

std::string changeMode(const std::string& file) {
  const std::string command = "chmod a+rx " + shellWord(file);
  return ::access(fs::path(file).parent_path().c_str(), W_OK) == 0 ? command : asRoot(command);
}

// A service of the installed units has its socket in /run/halyard.
Finding socketProblem(const hal::Manifest& manifest, Finding finding) {
  const fs::path socket = manifest.target;
  if (socket.parent_path() != "/run/halyard") {
    finding.command = fmt::format("ls -l {}", shellWord(manifest.target));
    return finding;
  }
  const std::string unit = fmt::format("halyard-driver@{}.socket", socket.stem().string());
  std::error_code error;
  const bool there = fs::exists(socket, error);
  finding.command = asRoot(there ? "systemctl restart " + unit : "systemctl enable --now " + unit);
  return finding;
}

// A manifest that the runtime could not use.
Finding problemOf(const std::string& path, const std::string& reason) {
  Finding finding{FindingLevel::PROBLEM, path, reason};
  const Result<hal::Manifest> manifest = hal::loadManifest(path);
  std::error_code error;
  if (!manifest.ok()) {
    finding.command = fs::exists(path, error)
                          ? takeAway(path)
                          : "unset HALYARD_DRIVER_FILES HALYARD_ADD_DRIVER_FILES";
    return finding;
  }
  if (manifest->kind == hal::Manifest::Kind::SOCKET) return socketProblem(*manifest, finding);
  const bool there = fs::exists(manifest->target, error);
  if (!there) {
    finding.text = fmt::format(
        "its {} {} is missing",
        manifest->kind == hal::Manifest::Kind::LIBRARY ? "library" : "program", manifest->target);
    finding.command = takeAway(path);
    return finding;
  }
  if (manifest->kind == hal::Manifest::Kind::EXECUTABLE &&
      ::access(manifest->target.c_str(), X_OK) != 0) {
    finding.text = fmt::format("its program {} may not be executed by this user", manifest->target);
    finding.command = changeMode(manifest->target);
    return finding;
  }
  finding.command =
      fmt::format("HALYARD_LOG=info HALYARD_DRIVER_FILES={} halyard devices", shellWord(path));
  return finding;
}

// The rights that the driver could not give up.
void addIsolation(std::vector<Finding>& findings, const Json& device) {
  const std::string name = textOf(device, "name");
  for (const Json& measure : device.value("isolation", Json::array())) {
    const std::string state = textOf(measure, "state");
    if (state == hal::isolationStateName(State::APPLIED)) continue;
    const std::string text =
        fmt::format("{} is {}: {}", textOf(measure, "measure"), state, textOf(measure, "detail"));
    const bool chosen = state == hal::isolationStateName(State::OFF);
    findings.push_back({chosen ? FindingLevel::OK : FindingLevel::WARNING, name + ", sandbox", text,
                        chosen ? "" : "halyard devices"});
  }
}

Finding deviceFinding(const Json& device) {
  const std::string name = textOf(device, "name");
  const std::string version = textOf(device, "version");
  const std::string manifest = textOf(device, "manifest");
  Finding finding{FindingLevel::OK, name,
                  fmt::format("runs, version {}, HAL {}, feature level {}, {}",
                              version.empty() ? "unknown" : version, textOf(device, "hal_version"),
                              device.value("feature_level", int64_t{0}),
                              manifest.empty() ? "in this library" : manifest)};
  // Halyard's own drivers have Halyard's version.
  if (name.starts_with("halyard-") && version.find(halyard_version()) == std::string::npos) {
    finding.level = FindingLevel::WARNING;
    finding.text += fmt::format("; the runtime is version {}", halyard_version());
    finding.command =
        asRoot("apt-get install --only-upgrade 'halyard-driver-*' libneuralnetworks0");
  }
  return finding;
}

}  // namespace

FindingSection checkDrivers(std::string_view devices) {
  FindingSection section{"drivers", {}};
  const Json document = Json::parse(devices, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object()) {
    section.findings.push_back({FindingLevel::PROBLEM, "the runtime",
                                "its list of devices is no JSON object", "halyard devices --json"});
    return section;
  }
  size_t drivers = 0;
  for (const Json& device : document.value("devices", Json::array())) {
    section.findings.push_back(deviceFinding(device));
    addIsolation(section.findings, device);
    drivers += textOf(device, "manifest").empty() ? 0 : 1;
  }
  for (const Json& problem : document.value("problems", Json::array())) {
    section.findings.push_back(problemOf(textOf(problem, "manifest"), textOf(problem, "reason")));
  }
  if (drivers == 0) {
    section.findings.push_back({FindingLevel::WARNING, "drivers",
                                "no driver runs, so the runtime's own CPU device computes all",
                                asRoot("apt-get install halyard-driver-cpu")});
  }
  return section;
}

}  // namespace halyard::cli
