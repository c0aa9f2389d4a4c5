// ClientSession: a device as one client sees it. It provides the parts of the HAL that a driver
// does not implement.
// These are buffers, bursts, fenced executions, scheduling, limits, and the checks of all
// arguments.
// Thread safety: that of hal::Device.
// Ownership: shares the device and the services. Its prepared models and buffers share its state.
// They stay valid after the end of the session, but then their calls fail.
//
// The runtime has a session for each device in its own process. The server of a driver has one for
// each client, so that clients know nothing of each other.
#pragma once

#include <memory>
#include <stop_token>

#include "halyard/driver/device.h"

namespace halyard::trace {
class Recorder;
}

namespace halyard::hal {

class Quota;
class SessionServices;
struct SessionState;

class ClientSession final : public Device {
 public:
  // `quota`: the limits of the client; null: no limits.
  ClientSession(std::shared_ptr<Device> device, std::shared_ptr<SessionServices> services,
                std::shared_ptr<Quota> quota = nullptr);
  // A session for the CPU device of the runtime. It accepts models that no driver gets: control
  // flow of unknown sizes.
  static std::shared_ptr<ClientSession> ofRuntime(std::shared_ptr<Device> device,
                                                  std::shared_ptr<SessionServices> services);
  // Calls end().
  ~ClientSession() override;
  ClientSession(const ClientSession&) = delete;
  ClientSession& operator=(const ClientSession&) = delete;

  const DeviceInfo& info() const override;
  DeviceStatus status() override;
  // BAD_DATA if the model needs a newer level than that of the device. This also applies to the
  // models of the other methods.
  Result<SupportedOperations> getSupportedOperations(const ValidModel& model) override;
  // Unusable cache files do not fail the preparation. The driver then gets no files.
  Result<std::shared_ptr<PreparedModel>> prepareModel(const ValidModel& model,
                                                      const PrepareOptions& options) override;
  // BAD_DATA for files that do not fit the driver. OP_FAILED for a driver without caching, and when
  // the loaded model has another interface than `model`, if given.
  Result<CachedModel> prepareModelFromCache(const std::optional<ValidModel>& model,
                                            const PrepareOptions& options) override;
  // Makes a buffer in memory of the session, see session/buffers.h. UNAVAILABLE_DEVICE for a device
  // before HAL 1.3.
  Result<std::unique_ptr<Buffer>> allocate(
      const Shape& dimensions, std::span<const std::shared_ptr<PreparedModel>> preparedModels,
      std::span<const BufferRole> inputRoles, std::span<const BufferRole> outputRoles) override;
  pid_t processId() const override;
  Status wait() override;

  Quota& quota() const;
  // Records the work for the client in `recorder`; null stops the recording. See IDriver.trace.
  void setTrace(std::shared_ptr<trace::Recorder> recorder);

  // Asks the running executions of the client to stop, because the client has ended.
  void end();

 private:
  Status checkLevel(const ValidModel& model) const;

  const std::shared_ptr<SessionState> state_;
  bool isOfRuntime_ = false;
};

// The status that a device without bursts (DeviceInfo::bursts) returns.
Status noBursts();

// Removes the values that the HAL does not allow in a result. An error has no times. It has no
// shapes, except OUTPUT_INSUFFICIENT_SIZE. Times are reported only on request.
void normalise(ExecutionResult& result, bool measureTiming);

}  // namespace halyard::hal
