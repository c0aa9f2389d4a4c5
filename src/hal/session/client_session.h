// ClientSession: a device as one client sees it, with everything that the HAL has and a driver need
// not write: its own buffers, bursts, fenced executions, scheduling, limits, and the checks of
// whatever comes in.
// Thread safety: as hal::Device.
// Ownership: shares the device and the services; its prepared models and buffers share its state,
// and stay valid after the session's end, but fail then.
//
// The runtime has one around each device of its own process; a driver's server has one for each
// client, so that nothing of one client is known to another.
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
  // `quota`: what the client may hold; null for no limits.
  ClientSession(std::shared_ptr<Device> device, std::shared_ptr<SessionServices> services,
                std::shared_ptr<Quota> quota = nullptr);
  // Around the runtime's own device, which takes what no driver gets: control flow of unknown
  // sizes.
  static std::shared_ptr<ClientSession> ofRuntime(std::shared_ptr<Device> device,
                                                  std::shared_ptr<SessionServices> services);
  // As end().
  ~ClientSession() override;
  ClientSession(const ClientSession&) = delete;
  ClientSession& operator=(const ClientSession&) = delete;

  const DeviceInfo& info() const override;
  DeviceStatus status() override;
  // The model may have nothing newer than the device's level, else BAD_DATA. The same holds for
  // the models of the other methods.
  Result<std::vector<bool>> getSupportedOperations(const ValidModel& model) override;
  // Cache files that are not as the driver wants them do not spoil the preparation: the driver gets
  // none.
  Result<std::shared_ptr<PreparedModel>> prepareModel(const ValidModel& model,
                                                      const PrepareOptions& options) override;
  // BAD_DATA for files that are not as the driver wants them; OP_FAILED for a driver that does not
  // cache, and when it comes back with something else than `model`, if that is given.
  Result<CachedModel> prepareModelFromCache(const std::optional<ValidModel>& model,
                                            const PrepareOptions& options) override;
  // In memory of the session's, whatever the device: see session/buffers.h.
  Result<std::unique_ptr<Buffer>> allocate(
      const Shape& dimensions, std::span<const std::shared_ptr<PreparedModel>> preparedModels,
      std::span<const BufferRole> inputRoles, std::span<const BufferRole> outputRoles) override;
  pid_t processId() const override;
  Status wait() override;

  Quota& quota() const;
  // What is done for the client is recorded there; null: no more. See IDriver.trace.
  void setTrace(std::shared_ptr<trace::Recorder> recorder);

  // The client has gone: asks what is being executed for it to stop, and lets go of what it holds.
  void end();

 private:
  Status checkLevel(const ValidModel& model) const;

  const std::shared_ptr<SessionState> state_;
  bool isOfRuntime_ = false;
};

// The answer of a device whose DeviceInfo::bursts is false.
Status noBursts();

// What an execution may report, by the rules of the HAL: nothing but the status with most errors,
// and times only if they were asked for.
void normalise(ExecutionResult& result, bool measureTiming);

}  // namespace halyard::hal
