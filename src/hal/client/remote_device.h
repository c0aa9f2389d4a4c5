// RemoteDevice: a driver in a process of its own, as a hal::Device.
// Thread safety: as hal::Device. Calls block their thread; none may come from the RPC loop's.
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

// Speaks the HAL version of the manifest. A model with operations that are newer is refused by
// prepareModel, with the reason; getSupportedOperations answers false for those and asks the driver
// about the others. A driver that has ended answers DEAD_OBJECT, with a text
// that says how it ended, to the calls that were running and to its prepared models; the next
// getSupportedOperations or prepareModel starts it again.
class RemoteDevice final : public Device {
 public:
  // Starts (or connects to) the driver and asks what it is. Without `startTimeout` the limit is
  // $HALYARD_DRIVER_START_TIMEOUT_MS, or 10 s; a program with elevated privileges ignores the
  // environment. UNAVAILABLE_DEVICE when it cannot be started or reached, DEAD_OBJECT when it ends
  // or does not answer, OP_FAILED when it says something of itself that no device may say.
  // `services`: what the devices of a process share; without them the device has its own.
  static Result<std::shared_ptr<RemoteDevice>> open(
      std::shared_ptr<RpcLoop> loop, Manifest manifest,
      std::optional<std::chrono::milliseconds> startTimeout = std::nullopt,
      std::shared_ptr<SessionServices> services = nullptr);
  ~RemoteDevice() override;

  const DeviceInfo& info() const override { return info_; }
  DeviceStatus status() override;
  Result<std::vector<bool>> getSupportedOperations(const ValidModel& model) override;
  Result<std::shared_ptr<PreparedModel>> prepareModel(const ValidModel& model,
                                                      const PrepareOptions& options) override;
  // One call to a driver that implements it, so that the model is sent and checked once; two calls
  // otherwise.
  Result<SupportedPreparation> prepareIfSupported(const ValidModel& model,
                                                  const PrepareOptions& options) override;
  // `model` is needed: executions are checked and packed by it here, and by what the driver has
  // cached there. OP_FAILED before HAL 1.2. What the result says of preference and priority is what
  // `options` says.
  Result<CachedModel> prepareModelFromCache(const std::optional<ValidModel>& model,
                                            const PrepareOptions& options) override;
  // With HAL 1.3 only; see remote_buffer.h.
  Result<std::unique_ptr<Buffer>> allocate(
      const Shape& dimensions, std::span<const std::shared_ptr<PreparedModel>> preparedModels,
      std::span<const BufferRole> inputRoles, std::span<const BufferRole> outputRoles) override;
  pid_t processId() const override;
  Status wait() override;

  const Manifest& manifest() const { return manifest_; }
  // What the driver's process has given up; empty while there is none, or if it does not say.
  IsolationReport isolation() const;

 private:
  RemoteDevice(std::shared_ptr<RpcLoop> loop, Manifest manifest,
               std::chrono::milliseconds startTimeout, std::shared_ptr<SessionServices> services);

  // The running driver; starts it when there is none. MISSED_DEADLINE_TRANSIENT when that takes
  // longer than the deadline allows; the start goes on then.
  Result<std::shared_ptr<DriverConnection>> connection(
      std::optional<TimePoint> deadline = std::nullopt);
  void start();
  bool startInThread();  // with the lock held; false: there is no thread to be had
  // Whether one call may do for prepareIfSupported: driver and model are of HAL 1.3, as far as is
  // known. Two calls tell why a model is refused.
  bool mayPrepareJointly(const Model& model, const PrepareOptions& options) const;
  // nullopt: the driver does not implement it.
  Result<std::optional<SupportedPreparation>> prepareJointly(const ValidModel& model,
                                                             PrepareOptions options);
  std::shared_ptr<PreparedModel> preparedModel(const std::shared_ptr<DriverConnection>& driver,
                                               std::shared_ptr<const Model> model,
                                               const PrepareOptions& options, uint64_t key) const;
  Result<std::vector<bool>> askAbout(const ValidModel& model);
  Status fetchInfo();
  Status fetchFeatureLevel(DriverConnection& driver, const CallLimit& limit);

  const std::shared_ptr<RpcLoop> loop_;
  const Manifest manifest_;
  const std::chrono::milliseconds startTimeout_;
  const RemoteFencing fencing_;
  DeviceInfo info_;  // constant once open has returned
  std::atomic<bool> lacksJointPreparation_ = false;

  mutable std::mutex mutex_;  // for what follows
  std::condition_variable started_;
  std::thread starter_;
  bool starting_ = false;
  Status lastStart_;
  std::shared_ptr<DriverConnection> connection_;
  unsigned failedStarts_ = 0;  // in a row
  TimePoint nextStart_;        // not before
};

}  // namespace halyard::hal
