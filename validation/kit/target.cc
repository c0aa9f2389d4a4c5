#include "validation/kit/target.h"

#include "cpu/cpu_device.h"
#include "hal/client/library_device.h"
#include "hal/client/remote_device.h"
#include "hal/session/client_session.h"
#include "hal/session/session_services.h"

namespace halyard::validation {

Target::Target(TargetSpec spec) : spec_(std::move(spec)) {}

Target::~Target() = default;

Result<std::shared_ptr<hal::RpcLoop>> Target::loop() {
  if (loop_ == nullptr) {
    HALYARD_ASSIGN_OR_RETURN(loop_, hal::RpcLoop::start());
  }
  return loop_;
}

Result<std::shared_ptr<hal::Device>> Target::bareDevice() {
  if (!spec_.isInProcess()) return badData("driver '{}' is not in this process", spec_.name);
  if (bare_ == nullptr) {
    if (spec_.manifest) {
      HALYARD_ASSIGN_OR_RETURN(bare_, hal::loadLibrary(*spec_.manifest));
    } else if (spec_.makeDevice) {
      HALYARD_ASSIGN_OR_RETURN(bare_, spec_.makeDevice());
    } else {
      bare_ = cpu::makeCpuDevice(cpu::cpuDeviceInfo(), 0);
    }
  }
  return bare_;
}

Result<std::shared_ptr<hal::Device>> Target::openDevice() {
  const auto services = std::make_shared<hal::SessionServices>();
  if (!spec_.manifest) {
    HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<hal::Device> device, bareDevice());
    if (spec_.makeDevice) {
      return std::shared_ptr<hal::Device>(
          std::make_shared<hal::ClientSession>(std::move(device), services));
    }
    return std::shared_ptr<hal::Device>(hal::ClientSession::ofRuntime(std::move(device), services));
  }
  if (spec_.isInProcess()) return hal::openLibrary(*spec_.manifest, services);
  HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<hal::RpcLoop> shared, loop());
  HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<hal::RemoteDevice> device,
                           hal::RemoteDevice::open(std::move(shared), *spec_.manifest));
  return std::shared_ptr<hal::Device>(std::move(device));
}

Result<std::shared_ptr<hal::Device>> Target::device() {
  if (device_ == nullptr) {
    HALYARD_ASSIGN_OR_RETURN(device_, openDevice());
    processId_ = device_->processId();
  }
  return device_;
}

void Target::beginCheck() { processId_ = device_ == nullptr ? 0 : device_->processId(); }

std::vector<std::string> Target::endCheck() {
  std::vector<std::string> ends;
  if (device_ != nullptr && device_->processId() != processId_) {
    ends.push_back(fmt::format("the driver's process {} has ended", processId_));
    // The same object does not start the driver again: its waits between starts grow.
    device_.reset();
  }
  std::erase_if(watches_, [&](const DeathWatch& deathWatch) {
    auto end = deathWatch();
    if (end && !end->empty()) ends.push_back(std::move(*end));
    return end.has_value();
  });
  return ends;
}

}  // namespace halyard::validation
