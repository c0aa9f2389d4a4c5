// The interfaces of the NN HAL in C++: what a driver implements, what the runtime calls, and what
// the remote proxy and the server stand between.
// Thread safety: every method of every interface may be called from several threads at once.
// Ownership: prepared models outlive nothing but themselves; they may outlive their Device object's
// other clients, and releasing the last reference frees what they hold in the driver.
#pragma once

#include <sys/types.h>

#include <memory>
#include <vector>

#include "hal/types.h"

namespace halyard::hal {

class PreparedModel {
 public:
  virtual ~PreparedModel() = default;
  // Runs once and returns when the outputs are written. The request is validated by the caller
  // (runtime) and again at a driver's process boundary.
  virtual ExecutionResult executeSynchronously(const Request& request,
                                               const ExecuteOptions& options) = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;
  virtual DeviceStatus status() { return DeviceStatus::AVAILABLE; }
  // One bool per operation of model.main. true is a promise that prepareModel cannot fail because
  // of that operation. BAD_DATA for an invalid model.
  virtual Result<std::vector<bool>> getSupportedOperations(const Model& model) = 0;
  // The device may keep the shared model; nobody changes it any more.
  virtual Result<std::shared_ptr<PreparedModel>> prepareModel(std::shared_ptr<const Model> model,
                                                              const PrepareOptions& options) = 0;
  // The process that runs the driver: this one for an in-process device, 0 when it is not running.
  virtual pid_t processId() const;
  // Blocks until the device serves again after DEAD_OBJECT; OK at once when it does.
  virtual Status wait() { return okStatus(); }
};

}  // namespace halyard::hal
