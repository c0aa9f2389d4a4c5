// Discovery of devices.
#include "runtime/device/device_manager.h"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "base/verbose_log.h"
#include "cpu/cpu_device.h"
#include "hal/client/library_device.h"
#include "hal/client/remote_device.h"
#include "hal/manifest/manifest.h"
#include "hal/session/client_session.h"
#include "hal/session/session_services.h"
#include "hal/wire/rpc_loop.h"

namespace halyard::runtime {
namespace {

using Json = nlohmann::json;

// The newest level of the API. The CPU device always supports it.
constexpr FeatureLevel kRuntimeLevel = FeatureLevel::FL8;

Json performance(const hal::PerformanceInfo& info) {
  return {{"exec_time", info.execTime}, {"power_usage", info.powerUsage}};
}

Json isolation(const Device& device) {
  Json list = Json::array();
  for (const hal::IsolationMeasure& measure : device.isolation()) {
    list.push_back({{"measure", measure.name},
                    {"state", hal::isolationStateName(measure.state)},
                    {"detail", measure.detail}});
  }
  return list;
}

Json describe(const Device& device) {
  const hal::DeviceInfo& info = device.info();
  const pid_t process = device.hal().processId();
  std::vector<std::string> features;
  if (process != ::getpid()) features.emplace_back("own process");
  if (info.modelCacheFiles + info.dataCacheFiles > 0) features.emplace_back("compilation caching");
  for (const hal::Extension& extension : info.extensions) features.push_back(extension.name);
  const hal::Capabilities& capabilities = info.capabilities;
  return {{"name", info.name},
          {"type", hal::deviceTypeName(info.type)},
          {"hal_version", halVersionName(info.halVersion)},
          {"version", info.versionString},
          {"feature_level", apiFeatureLevel(device.featureLevel())},
          {"process_id", process},
          {"manifest", device.manifest()},
          {"isolation", isolation(device)},
          {"features", features},
          {"capabilities",
           {{"float32", performance(capabilities.lookup(OperandType::TENSOR_FLOAT32))},
            {"quant8", performance(capabilities.lookup(OperandType::TENSOR_QUANT8_ASYMM))},
            {"relaxed", performance(capabilities.relaxedFloat32toFloat16PerformanceTensor)}}}};
}

}  // namespace

hal::IsolationReport Device::isolation() const {
  return askIsolation_ ? askIsolation_() : hal::IsolationReport();
}

FeatureLevel Device::featureLevel() const {
  return isCpu_ ? kRuntimeLevel : hal::offeredLevel(info());
}

DeviceManager::DeviceManager(std::vector<Device> drivers,
                             std::shared_ptr<hal::SessionServices> services)
    : devices_(std::move(drivers)) {
  if (services == nullptr) services = std::make_shared<hal::SessionServices>();
  devices_.emplace_back(hal::ClientSession::ofRuntime(cpu::makeCpuDevice(cpu::cpuDeviceInfo(), 0),
                                                      std::move(services)),
                        std::string(), true);
  for (const Device& device : devices_) addExtensions(device);
}

void DeviceManager::addExtensions(const Device& device) {
  for (const std::string& name : extensions_.addDevice(device.info().extensions)) {
    const auto first = std::ranges::find_if(devices_, [&name](const Device& each) {
      return std::ranges::any_of(each.info().extensions, [&name](const hal::Extension& extension) {
        return extension.name == name;
      });
    });
    Status reason =
        badData("the devices {} and {} describe the extension '{}' differently; it cannot be used",
                first->name(), device.name(), name);
    logWarning("{}", reason.message());
    problems_.push_back({device.manifest(), std::move(reason)});
  }
}

std::unique_ptr<DeviceManager> DeviceManager::create(const std::string& prefix) {
  const hal::ManifestList list = hal::discoverManifests(prefix);
  std::vector<DeviceProblem> problems;
  for (const hal::ManifestProblem& problem : list.problems) {
    problems.push_back({problem.path.string(), problem.status});
  }
  std::vector<Device> drivers;
  const auto services = std::make_shared<hal::SessionServices>();
  std::shared_ptr<hal::RpcLoop> loop;
  const std::string cpuName = cpu::cpuDeviceInfo().name;
  for (const hal::Manifest& manifest : list.manifests) {
    if (manifest.name == cpuName) {
      problems.push_back({manifest.path.string(),
                          badData("'{}' is the name of the runtime's own device", cpuName)});
      continue;
    }
    if (manifest.kind == hal::Manifest::Kind::LIBRARY) {
      Result<std::shared_ptr<hal::Device>> library = hal::openLibrary(manifest, services);
      if (library.ok()) {
        drivers.emplace_back(std::move(*library), manifest.path.string(), false,
                             hal::libraryIsolation);
      } else {
        problems.push_back({manifest.path.string(), library.takeStatus()});
      }
      continue;
    }
    if (loop == nullptr) {
      Result<std::shared_ptr<hal::RpcLoop>> started = hal::RpcLoop::start();
      if (!started.ok()) {
        problems.push_back({manifest.path.string(), started.takeStatus()});
        continue;
      }
      loop = std::move(started).value();
    }
    auto device = hal::RemoteDevice::open(loop, manifest, std::nullopt, services);
    if (!device.ok()) {
      problems.push_back({manifest.path.string(), device.takeStatus()});
      continue;
    }
    const std::shared_ptr<hal::RemoteDevice> remote = std::move(device).value();
    drivers.emplace_back(remote, manifest.path.string(), false,
                         [remote] { return remote->isolation(); });
  }
  auto manager = std::make_unique<DeviceManager>(std::move(drivers), services);
  for (const Device& device : manager->devices()) {
    vlog(VlogTag::MANAGER, "found device {} {}, process {}, {}", device.name(),
         device.info().versionString, device.hal().processId(), device.manifest());
  }
  std::ranges::move(problems, std::back_inserter(manager->problems_));
  return manager;
}

const Device* DeviceManager::find(const void* device) const {
  const auto it = std::find_if(devices_.begin(), devices_.end(),
                               [&](const Device& candidate) { return &candidate == device; });
  return it == devices_.end() ? nullptr : &*it;
}

std::string DeviceManager::json() const {
  Json devices = Json::array();
  for (const Device& device : devices_) devices.push_back(describe(device));
  Json problems = Json::array();
  for (const DeviceProblem& problem : problems_) {
    problems.push_back({{"manifest", problem.manifest}, {"reason", problem.reason.toString()}});
  }
  // Names and texts of drivers may contain any bytes.
  return Json{{"devices", devices}, {"problems", problems}}.dump(2, ' ', false,
                                                                 Json::error_handler_t::replace);
}

hal::OperandSizes operandSizes(const Model& model, std::span<const Device* const> devices) {
  hal::OperandSizes sizes;
  for (const Device* device : devices) sizes.add(model, device->info().extensions);
  return sizes;
}

}  // namespace halyard::runtime
