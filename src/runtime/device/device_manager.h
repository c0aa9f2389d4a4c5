// DeviceManager: the devices of the process. Drivers come first, in the order of discovery, then
// the CPU.
// Thread safety: immutable after create, except for the state of the devices.
// Ownership: owns the devices; pointers to Device are valid as long as the manager lives.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hal/checks/operand_sizes.h"
#include "hal/manifest/isolation_measure.h"
#include "halyard/driver/device.h"
#include "runtime/device/device_timings.h"
#include "runtime/device/extension_registry.h"
#include "runtime/device/quarantine.h"

namespace halyard::hal {
class SessionServices;
}

namespace halyard::runtime {

// An ANeuralNetworksDevice.
class Device {
 public:
  using AskIsolation = std::function<hal::IsolationReport()>;
  Device(std::shared_ptr<hal::Device> device, std::string manifest, bool isCpu,
         AskIsolation askIsolation = nullptr)
      : device_(std::move(device)),
        manifest_(std::move(manifest)),
        isCpu_(isCpu),
        askIsolation_(std::move(askIsolation)) {}

  hal::Device& hal() const { return *device_; }
  const hal::DeviceInfo& info() const { return device_->info(); }
  const std::string& name() const { return info().name; }
  // Returns the path of its manifest; empty for the CPU device.
  const std::string& manifest() const { return manifest_; }
  // Returns whether it is the runtime's own device, which is the fallback for everything.
  bool isCpu() const { return isCpu_; }
  // Returns the device's level, at most the level that the runtime knows.
  FeatureLevel featureLevel() const;
  // Returns the measurements of its executions.
  const std::shared_ptr<DeviceTimings>& timings() const { return timings_; }
  // Returns whether the device may still be used.
  const std::shared_ptr<Quarantine>& quarantine() const { return quarantine_; }
  // Returns the rights that its process has given up; empty for a device of this process.
  hal::IsolationReport isolation() const;

 private:
  std::shared_ptr<hal::Device> device_;
  std::string manifest_;
  bool isCpu_;
  AskIsolation askIsolation_;
  std::shared_ptr<DeviceTimings> timings_ = std::make_shared<DeviceTimings>();
  std::shared_ptr<Quarantine> quarantine_ = std::make_shared<Quarantine>();
};

// A manifest, a device or a part of one that cannot be used, and the reason.
struct DeviceProblem {
  std::string manifest;  // path of the file
  Status reason;
};

class DeviceManager {
 public:
  // Finds drivers, starts those that are executables, and adds the CPU device last. `prefix` is the
  // installation whose share/halyard/drivers.d is searched last; may be empty.
  static std::unique_ptr<DeviceManager> create(const std::string& prefix);
  // For tests and embedders: exactly these devices, and the CPU device last. `services`: the
  // services that the devices of the process share.
  explicit DeviceManager(std::vector<Device> drivers,
                         std::shared_ptr<hal::SessionServices> services = nullptr);

  std::span<const Device> devices() const { return devices_; }
  const Device& cpu() const { return devices_.back(); }
  std::span<const DeviceProblem> problems() const { return problems_; }
  // Returns nullptr unless `device` is one of devices().
  const Device* find(const void* device) const;
  ExtensionRegistry& extensions() { return extensions_; }
  // Returns devices and problems as JSON: the document of `halyard devices --json`.
  std::string json() const;

 private:
  void addExtensions(const Device& device);

  std::vector<Device> devices_;
  std::vector<DeviceProblem> problems_;
  ExtensionRegistry extensions_;
};

// Returns the sizes, including types of the model's extensions, as the devices describe them.
hal::OperandSizes operandSizes(const Model& model, std::span<const Device* const> devices);

}  // namespace halyard::runtime
