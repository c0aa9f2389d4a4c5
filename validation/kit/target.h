// Target: the driver under test, as the checks of one process use it.
// Thread safety: one thread, except for the devices, which are as hal::Device.
// Ownership: owns the devices that it opens. Drivers in processes of their own end with it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hal/manifest/manifest.h"
#include "hal/wire/rpc_loop.h"
#include "halyard/driver/device.h"

namespace halyard::validation {

// The driver to validate. Starts nothing.
struct TargetSpec {
  std::string name;                       // of the device
  std::optional<hal::Manifest> manifest;  // empty: a device in the process of the check
  // Makes this device, in each process that needs it. Empty: the runtime's own CPU device.
  std::function<Result<std::shared_ptr<hal::Device>>()> makeDevice;
  HalVersion deviceVersion = HalVersion::V1_3;  // of that device
  std::string argument;                         // its form on the command line

  HalVersion halVersion() const { return manifest ? manifest->halVersion : deviceVersion; }
  // Whether the driver runs in the process of the check.
  bool isInProcess() const { return !manifest || manifest->kind == hal::Manifest::Kind::LIBRARY; }
};

class Target {
 public:
  explicit Target(TargetSpec spec);
  ~Target();
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  const TargetSpec& spec() const { return spec_; }

  // The device as the runtime uses it: checked and adapted to newer models. Checks of a process
  // share it. If its driver has ended, it is opened again.
  Result<std::shared_ptr<hal::Device>> device();
  // Another device, for a check that needs the driver for itself: with a process of its own if it
  // has one.
  Result<std::shared_ptr<hal::Device>> openDevice();
  // The driver's own device object, without wrappers. Only for drivers in this process.
  Result<std::shared_ptr<hal::Device>> bareDevice();
  Result<std::shared_ptr<hal::RpcLoop>> loop();

  // An object that a suite keeps for the checks of this process, by `key`. It is null at first.
  std::shared_ptr<void>& kept(const std::string& key) { return kept_[key]; }

  // Called after each check. Returns how the driver has ended, or nothing while it runs. A watch
  // that has answered is removed.
  using DeathWatch = std::function<std::optional<std::string>()>;
  void watch(DeathWatch deathWatch) { watches_.push_back(std::move(deathWatch)); }

  // Called by the runner before and after each check. The result lists the drivers' ends meanwhile.
  void beginCheck();
  std::vector<std::string> endCheck();

 private:
  const TargetSpec spec_;
  std::shared_ptr<hal::RpcLoop> loop_;
  std::shared_ptr<hal::Device> bare_;
  std::shared_ptr<hal::Device> device_;
  pid_t processId_ = 0;  // of device_ when the check began
  std::vector<DeathWatch> watches_;
  std::map<std::string, std::shared_ptr<void>> kept_;
};

}  // namespace halyard::validation
