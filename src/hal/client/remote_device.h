// RemoteDevice: a driver in its own process, as a hal::Device.
// Thread safety: as hal::Device. Calls block their thread. The thread of the RPC loop must not
// call.
// Ownership: shares the loop. The driver's process ends with the device and all its prepared
// models.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "hal/manifest/isolation_measure.h"
#include "hal/manifest/manifest.h"
#include "hal/session/session_services.h"
#include "hal/wire/rpc_loop.h"
#include "halyard/driver/device.h"

namespace halyard::hal {

class DriverConnection;
struct CallLimit;

// Uses the HAL version of the manifest. For a model with newer operations, prepareModel returns an
// error with the reason. getSupportedOperations returns false for the newer operations, and asks
// the driver about the others.
//
// When a driver ends, its running calls and its prepared models return DEAD_OBJECT with the text of
// its end. The next call of getSupportedOperations, prepareModel, prepareModelFromCache or wait
// starts it again.
class RemoteDevice final : public Device {
 public:
  // Starts the driver, or connects to it, and asks for its properties. The default of
  // `startTimeout` is $HALYARD_DRIVER_START_TIMEOUT_MS, or 10 s. A program with elevated privileges
  // ignores the environment. UNAVAILABLE_DEVICE when the driver cannot be started or reached.
  // DEAD_OBJECT when it ends or does not answer. OP_FAILED when its properties are invalid.
  // `services`: the services that the devices of a process share; without them the device has its
  // own.
  static Result<std::shared_ptr<RemoteDevice>> open(
      std::shared_ptr<RpcLoop> loop, Manifest manifest,
      std::optional<std::chrono::milliseconds> startTimeout = std::nullopt,
      std::shared_ptr<SessionServices> services = nullptr);
  ~RemoteDevice() override;

  const DeviceInfo& info() const override { return info_; }
  DeviceStatus status() override;
  Result<SupportedOperations> getSupportedOperations(const ValidModel& model) override;
  Result<std::shared_ptr<PreparedModel>> prepareModel(const ValidModel& model,
                                                      const PrepareOptions& options) override;
  // Uses one call if the driver implements it, so that the model is sent and checked once.
  // Otherwise uses two calls.
  Result<SupportedPreparation> prepareIfSupported(const ValidModel& model,
                                                  const PrepareOptions& options) override;
  // `model` is required: this process checks and packs executions with it. The driver uses its
  // cached model. OP_FAILED before HAL 1.2. The result's preference and priority are those of
  // `options`.
  Result<CachedModel> prepareModelFromCache(const std::optional<ValidModel>& model,
                                            const PrepareOptions& options) override;
  // Needs HAL 1.3; see remote_buffer.h.
  Result<std::unique_ptr<Buffer>> allocate(
      const Shape& dimensions, std::span<const std::shared_ptr<PreparedModel>> preparedModels,
      std::span<const BufferRole> inputRoles, std::span<const BufferRole> outputRoles) override;
  pid_t processId() const override;
  Status wait() override;

  const Manifest& manifest() const { return manifest_; }
  // The isolation measures of the driver's process. Empty without a running process, or if it
  // reports no measures.
  IsolationReport isolation() const;

 private:
  RemoteDevice(std::shared_ptr<RpcLoop> loop, Manifest manifest,
               std::chrono::milliseconds startTimeout, std::shared_ptr<SessionServices> services);

  // Returns the running driver; starts it if it does not run. MISSED_DEADLINE_TRANSIENT when that
  // takes longer than the deadline allows. The start then continues.
  Result<std::shared_ptr<DriverConnection>> connection(
      std::optional<TimePoint> deadline = std::nullopt);
  void start();
  bool startInThread();  // with the lock held; false: no thread can be made
  // Whether one call is possible for prepareIfSupported: driver and model are of HAL 1.3, as far as
  // this process knows. Otherwise two calls report why a model is refused.
  bool mayPrepareJointly(const Model& model, const PrepareOptions& options) const;
  // Returns nullopt when the driver does not implement the call.
  Result<std::optional<SupportedPreparation>> prepareJointly(const ValidModel& model,
                                                             PrepareOptions options);
  std::shared_ptr<PreparedModel> preparedModel(const std::shared_ptr<DriverConnection>& driver,
                                               std::shared_ptr<const Model> model,
                                               const PrepareOptions& options, uint64_t key) const;
  Result<SupportedOperations> askAbout(const ValidModel& model);
  Status fetchInfo();
  Status fetchFeatureLevel(DriverConnection& driver, const CallLimit& limit);

  const std::shared_ptr<RpcLoop> loop_;
  const Manifest manifest_;
  const std::chrono::milliseconds startTimeout_;
  const RemoteFencing fencing_;
  DeviceInfo info_;  // constant after open
  std::atomic<bool> lacksJointPreparation_ = false;

  mutable std::mutex mutex_;  // guards all members below
  std::condition_variable started_;
  std::thread starter_;
  bool starting_ = false;
  Status lastStart_;
  std::shared_ptr<DriverConnection> connection_;
  unsigned failedStarts_ = 0;  // in sequence
  TimePoint nextStart_;        // the earliest time
};

}  // namespace halyard::hal
