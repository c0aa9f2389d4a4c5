#include "tools/halyard/kit/validation_target.h"

#include <filesystem>
#include <vector>

#include "cpu/cpu_device.h"
#include "hal/manifest/manifest.h"
#include "measure/device_choice.h"
#include "tools/halyard/kit/conformance_target.h"

namespace halyard::cli {

namespace fs = std::filesystem;
using validation::TargetSpec;

bool isManifestPath(const std::string& argument) {
  std::error_code error;
  return argument.ends_with(".json") || fs::is_regular_file(argument, error);
}

Result<TargetSpec> findValidationTarget(const std::string& argument) {
  TargetSpec target;
  target.argument = argument;
  if (isManifestPath(argument)) {
    HALYARD_ASSIGN_OR_RETURN(target.manifest, hal::loadManifest(fs::absolute(argument)));
    target.name = target.manifest->name;
    return target;
  }
  const hal::ManifestList list = hal::discoverManifests(installationPrefix());
  std::vector<std::string> names;
  for (const hal::Manifest& manifest : list.manifests) names.push_back(manifest.name);
  names.push_back(cpu::cpuDeviceInfo().name);
  HALYARD_ASSIGN_OR_RETURN(const size_t index, measure::chooseDevice(names, argument));
  target.name = names[index];
  if (index < list.manifests.size()) target.manifest = list.manifests[index];
  return target;
}

}  // namespace halyard::cli
