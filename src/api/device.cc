// Entry points ANeuralNetworks_* and ANeuralNetworksDevice_*.
#include <dlfcn.h>

#include <filesystem>

#include "api/objects.h"
#include "api/trace.h"
#include "base/verbose_log.h"

namespace halyard::api {
namespace {

// The prefix of the installation that contains this library.
std::string installationPrefix() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&installationPrefix), &info) == 0) return {};
  std::error_code error;
  const std::filesystem::path file = std::filesystem::canonical(info.dli_fname, error);
  if (error) return {};
  // The prefix is the folder above the folder "lib*", such as lib, lib64 or lib/x86_64-linux-gnu.
  for (std::filesystem::path folder = file.parent_path(); folder.has_relative_path();
       folder = folder.parent_path()) {
    if (folder.filename().string().starts_with("lib")) return folder.parent_path().string();
  }
  return {};
}

}  // namespace

runtime::DeviceManager& deviceManager() {
  static constinit PerProcess<runtime::DeviceManager> manager;
  return manager.get([] {
    readVlogTags();
    // This comes before the search for devices, so that the trace contains the start of the
    // drivers.
    startTraceOfEnvironment();
    const trace::Scope mark(trace::Layer::RUNTIME, trace::Phase::INITIALIZATION,
                            "look for devices");
    return runtime::DeviceManager::create(installationPrefix());
  });
}

Result<const runtime::Device*> checkDevice(const ANeuralNetworksDevice* device) {
  HALYARD_RETURN_IF_NULL(device);
  const runtime::Device* found = deviceManager().find(device);
  if (found == nullptr) return noDevice("device");
  return found;
}

}  // namespace halyard::api

using namespace halyard;  // NOLINT(google-build-using-namespace): entry points are global
using api::entryPoint;

int64_t ANeuralNetworks_getRuntimeFeatureLevel() {
  api::registerImplementation();
  return apiFeatureLevel(FeatureLevel::FL8);
}

int ANeuralNetworks_getDeviceCount(uint32_t* numDevices) {
  return entryPoint(__func__, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(numDevices);
    *numDevices = static_cast<uint32_t>(api::deviceManager().devices().size());
    return okStatus();
  });
}

int ANeuralNetworks_getDevice(uint32_t devIndex, ANeuralNetworksDevice** device) {
  return entryPoint(__func__, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(device);
    *device = nullptr;
    const auto devices = api::deviceManager().devices();
    if (devIndex >= devices.size()) return badData("device {} of {}", devIndex, devices.size());
    *device = const_cast<ANeuralNetworksDevice*>(api::toApi(&devices[devIndex]));
    return okStatus();
  });
}

int ANeuralNetworksDevice_getName(const ANeuralNetworksDevice* device, const char** name) {
  return entryPoint(__func__, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(name);
    HALYARD_ASSIGN_OR_RETURN(const runtime::Device* found, api::checkDevice(device));
    *name = found->name().c_str();
    return okStatus();
  });
}

int ANeuralNetworksDevice_getVersion(const ANeuralNetworksDevice* device, const char** version) {
  return entryPoint(__func__, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(version);
    HALYARD_ASSIGN_OR_RETURN(const runtime::Device* found, api::checkDevice(device));
    *version = found->info().versionString.c_str();
    return okStatus();
  });
}

int ANeuralNetworksDevice_getType(const ANeuralNetworksDevice* device, int32_t* type) {
  return entryPoint(__func__, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(type);
    HALYARD_ASSIGN_OR_RETURN(const runtime::Device* found, api::checkDevice(device));
    *type = static_cast<int32_t>(found->info().type);
    return okStatus();
  });
}

int ANeuralNetworksDevice_getFeatureLevel(const ANeuralNetworksDevice* device,
                                          int64_t* featureLevel) {
  return entryPoint(__func__, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(featureLevel);
    HALYARD_ASSIGN_OR_RETURN(const runtime::Device* found, api::checkDevice(device));
    *featureLevel = apiFeatureLevel(found->featureLevel());
    return okStatus();
  });
}

int ANeuralNetworksDevice_wait(const ANeuralNetworksDevice* device) {
  return entryPoint(__func__, [&]() -> Status {
    HALYARD_ASSIGN_OR_RETURN(const runtime::Device* found, api::checkDevice(device));
    return found->hal().wait();
  });
}

int ANeuralNetworksDevice_getExtensionSupport(const ANeuralNetworksDevice* device,
                                              const char* extensionName,
                                              bool* isExtensionSupported) {
  return entryPoint(__func__, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(extensionName);
    HALYARD_RETURN_IF_NULL(isExtensionSupported);
    HALYARD_ASSIGN_OR_RETURN(const runtime::Device* found, api::checkDevice(device));
    *isExtensionSupported = !api::deviceManager().extensions().isDisabled(extensionName) &&
                            hal::offersExtension(found->info(), extensionName);
    return okStatus();
  });
}

uint64_t ANeuralNetworks_getDefaultLoopTimeout() {
  return halyard::hal::kDefaultLoopTimeout.count();
}

uint64_t ANeuralNetworks_getMaximumLoopTimeout() {
  return halyard::hal::kMaximumLoopTimeout.count();
}

int ANeuralNetworksModel_getSupportedOperationsForDevices(
    const ANeuralNetworksModel* model, const ANeuralNetworksDevice* const* devices,
    uint32_t numDevices, bool* supportedOps) {
  return entryPoint(__func__, trace::Phase::COMPILATION, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(model);
    HALYARD_RETURN_IF_NULL(devices);
    HALYARD_RETURN_IF_NULL(supportedOps);
    if (numDevices == 0) return badData("the list of devices is empty");
    HALYARD_RETURN_IF_ERROR(model->impl.checkFinished());
    HALYARD_ASSIGN_OR_RETURN(const std::vector<const runtime::Device*> list,
                             api::readDevices(devices, numDevices));
    HALYARD_ASSIGN_OR_RETURN(const std::vector<bool> supported,
                             runtime::supportedOperations(model->impl, list));
    for (size_t i = 0; i < supported.size(); ++i) supportedOps[i] = supported[i];
    return okStatus();
  });
}
