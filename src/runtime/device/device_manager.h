// DeviceManager: the devices of the process: drivers in the order of discovery, then the CPU.
// Thread safety: immutable after create, but for what the devices do themselves.
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
  // Where it was found; empty for the CPU device.
  const std::string& manifest() const { return manifest_; }
  // The runtime's own device, the one that everything can fall back to.
  bool isCpu() const { return isCpu_; }
  // Capped by what the runtime knows.
  FeatureLevel featureLevel() const;
  // What executions have shown of its speed.
  const std::shared_ptr<DeviceTimings>& timings() const { return timings_; }
  // Whether it is to be used no more.
  const std::shared_ptr<Quarantine>& quarantine() const { return quarantine_; }
  // What its process has given up; empty for a device of this process.
  hal::IsolationReport isolation() const;

 private:
  std::shared_ptr<hal::Device> device_;
  std::string manifest_;
  bool isCpu_;
  AskIsolation askIsolation_;
  std::shared_ptr<DeviceTimings> timings_ = std::make_shared<DeviceTimings>();
  std::shared_ptr<Quarantine> quarantine_ = std::make_shared<Quarantine>();
};

// A manifest or device, or something of one, that cannot be used, and why.
struct DeviceProblem {
  std::string manifest;  // path of the file
  Status reason;
};

class DeviceManager {
 public:
  // Looks for drivers, starting those that are executables, and adds the CPU device last. `prefix`
  // is the installation whose share/halyard/drivers.d is searched last; may be empty.
  static std::unique_ptr<DeviceManager> create(const std::string& prefix);
  // For tests and embedders: exactly these devices, and the CPU device last. `services`: what the
  // devices of the process share.
  explicit DeviceManager(std::vector<Device> drivers,
                         std::shared_ptr<hal::SessionServices> services = nullptr);

  std::span<const Device> devices() const { return devices_; }
  const Device& cpu() const { return devices_.back(); }
  std::span<const DeviceProblem> problems() const { return problems_; }
  // nullptr unless `device` is one of devices().
  const Device* find(const void* device) const;
  ExtensionRegistry& extensions() { return extensions_; }
  // Devices and problems as JSON; the document of `halyard devices --json`.
  std::string json() const;

 private:
  void addExtensions(const Device& device);

  std::vector<Device> devices_;
  std::vector<DeviceProblem> problems_;
  ExtensionRegistry extensions_;
};

// With the types of the extensions that the model uses, as the devices describe them.
hal::OperandSizes operandSizes(const Model& model, std::span<const Device* const> devices);

}  // namespace halyard::runtime
