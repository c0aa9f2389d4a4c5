// Starts reference drivers with personalities (docs/reference_driver.md) for tests, each in a
// process of its own, as the runtime does. Thread safety: none. Ownership: owns the folder of the
// personalities and the processes, which end with the object.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "hal/client/remote_device.h"
#include "hal/session/session_services.h"
#include "hal/wire/rpc_loop.h"
#include "runtime/device/device_manager.h"

namespace halyard::runtime::testing {

class DriverProcesses {
 public:
  explicit DriverProcesses(std::string executable) : executable_(std::move(executable)) {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "halyard-drivers-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~DriverProcesses() { std::filesystem::remove_all(folder_); }
  DriverProcesses(const DriverProcesses&) = delete;
  DriverProcesses& operator=(const DriverProcesses&) = delete;

  // Starts a driver. `fields`: members of the personality, separated by commas, without
  // hal_version. Throws when the driver does not start, because no test can continue.
  void add(const std::string& name, const std::string& fields, const char* version = "1.3") {
    const std::filesystem::path personality = std::filesystem::path(folder_) / (name + ".json");
    std::ofstream(personality) << fmt::format(R"({{"hal_version": "{}"{}{}}})", version,
                                              fields.empty() ? "" : ", ", fields);
    addExecutable(name, executable_, {"--personality", personality.string()}, version);
  }
  // Starts another driver.
  void addExecutable(const std::string& name, const std::string& executable,
                     std::vector<std::string> arguments = {}, const char* version = "1.3") {
    hal::Manifest manifest;
    manifest.name = name;
    manifest.version = "1";
    manifest.halVersion = halVersionFromName(version).value();
    manifest.target = executable;
    manifest.arguments = std::move(arguments);
    auto device = hal::RemoteDevice::open(loop_, std::move(manifest), std::nullopt, services_);
    if (!device.ok()) throw std::runtime_error(device.status().toString());
    drivers_.emplace_back(std::move(*device), name + ".json", false);
  }

  // The drivers in the order of their addition, then the CPU device. No more drivers can be added
  // after this call.
  DeviceManager& manager() {
    if (manager_ == nullptr) {
      manager_ = std::make_unique<DeviceManager>(std::move(drivers_), services_);
    }
    return *manager_;
  }
  std::vector<const Device*> all() {
    std::vector<const Device*> list;
    for (const Device& device : manager().devices()) list.push_back(&device);
    return list;
  }

 private:
  const std::string executable_;
  std::string folder_;
  const std::shared_ptr<hal::SessionServices> services_ = std::make_shared<hal::SessionServices>();
  const std::shared_ptr<hal::RpcLoop> loop_ = hal::RpcLoop::start().value();
  std::vector<Device> drivers_;
  std::unique_ptr<DeviceManager> manager_;
};

}  // namespace halyard::runtime::testing
