#include "tools/halyard/kit/conformance_target.h"

#include <cstdlib>
#include <filesystem>

#include "conformance/hal_target.h"
#include "cpu/cpu_device.h"
#include "hal/client/remote_device.h"
#include "hal/manifest/manifest.h"
#include "hal/session/client_session.h"
#include "hal/session/session_services.h"
#include "hal/wire/rpc_loop.h"
#include "measure/device_choice.h"
#include "tools/halyard/kit/api_target.h"

namespace halyard::cli {
namespace {

Result<std::shared_ptr<hal::Device>> openHalDevice(const std::string& name) {
  const hal::ManifestList list = hal::discoverManifests(installationPrefix());
  std::vector<std::string> names;
  for (const hal::Manifest& manifest : list.manifests) names.push_back(manifest.name);
  names.push_back(cpu::cpuDeviceInfo().name);
  HALYARD_ASSIGN_OR_RETURN(const size_t index, measure::chooseDevice(names, name));
  if (index == list.manifests.size()) {
    return std::shared_ptr<hal::Device>(hal::ClientSession::ofRuntime(
        cpu::makeCpuDevice(cpu::cpuDeviceInfo(), 0), std::make_shared<hal::SessionServices>()));
  }
  HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<hal::RpcLoop> loop, hal::RpcLoop::start());
  HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<hal::RemoteDevice> device,
                           hal::RemoteDevice::open(std::move(loop), list.manifests[index]));
  return std::shared_ptr<hal::Device>(std::move(device));
}

}  // namespace

std::filesystem::path installationPrefix() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::filesystem::path() : program.parent_path().parent_path();
}

Result<std::unique_ptr<conformance::Target>> openConformanceTarget(
    std::string_view via, std::span<const std::string> devices) {
  if (via == "api") {
    // The runtime starts every driver that it finds. The runtime's own device needs no drivers.
    if (devices.size() == 1 && devices.front() == cpu::cpuDeviceInfo().name) {
      ::setenv("HALYARD_DRIVER_FILES", "", 1);
    }
    return makeApiTarget(devices);
  }
  if (devices.size() != 1) return badData("--via {} takes one device", via);
  HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<hal::Device> opened, openHalDevice(devices.front()));
  return conformance::makeHalTarget(std::move(opened));
}

}  // namespace halyard::cli
