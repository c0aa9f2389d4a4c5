// RemotePreparedModel: a prepared model in a driver's process.
// Thread safety: as hal::PreparedModel.
// Ownership: keeps its driver running; its destruction frees the model in the driver.
#pragma once

#include <atomic>
#include <memory>
#include <variant>

#include "hal/client/argument_packer.h"
#include "hal/client/driver_connection.h"
#include "hal/checks/operand_sizes.h"
#include "hal/client/pending_key.h"
#include "hal/client/ring_lanes.h"
#include "hal/session/fenced_execution.h"
#include "halyard/driver/device.h"

namespace halyard::hal {

class RemotePreparedModel final : public PreparedModel,
                                  public std::enable_shared_from_this<RemotePreparedModel> {
 public:
  // What a prepared model is made of, beside the driver's.
  struct Parts {
    std::shared_ptr<DriverConnection> connection;
    std::shared_ptr<const Model> model;
    HalVersion version;    // of the methods to use
    bool takesAttributes;  // of extensions
    Priority priority;
    RemoteFencing fencing;
    OperandSizes sizes;  // with those of the driver's extensions
  };
  // `key`: its own in DriverConnection::Side::preparedModels, or that of a model that the driver is
  // still preparing: whatever needs the driver waits for that, and fails as it has failed.
  using Key = std::variant<uint64_t, std::shared_ptr<PendingKey>>;
  RemotePreparedModel(Parts parts, Key key);
  ~RemotePreparedModel() override;

  ExecutionResult executeSynchronously(const Request& request,
                                       const ExecuteOptions& options) override;
  Status saveToCache(int modelCache, int dataCache, const Token& token) override;

  const std::shared_ptr<DriverConnection>& connection() const { return connection_; }
  // Waits for the driver's answer; MISSED_DEADLINE_TRANSIENT if it is not there by `until`.
  Result<uint64_t> id(std::optional<TimePoint> until = std::nullopt) const;
  // The driver's own for HAL 1.3 and arguments in pools. Otherwise the execution waits in this
  // process, for an old driver knows no fences, and pointers are read and written here; an old
  // driver with nothing to wait for has computed on return, and there is no fence.
  FencedResult executeFenced(const Request& request, std::span<const int> waitFor,
                             const ExecuteOptions& options,
                             std::optional<std::chrono::nanoseconds> duration) override;
  Result<std::unique_ptr<Burst>> configureBurst() override;

  // Over the lane's ring, which is opened if need be; over the connection without a lane, or when
  // the ring cannot take the request.
  ExecutionResult executeIn(RingLane* lane, const Request& request, const ExecuteOptions& options);
  // Whether executeSynchronously uses rings; it does from the start.
  void useRings(bool use) { usesRings_ = use; }

 private:
  FencedResult executeFencedHere(const Request& request, std::vector<ForeignFd> pending,
                                 const ExecuteOptions& options,
                                 std::optional<std::chrono::nanoseconds> duration);
  Result<ExecutionResult> executeRemotely(RingLane* lane, const Request& request,
                                          const ExecuteOptions& options);
  // Before an execution that is recorded: see DriverConnection::traceModel.
  void nameInTrace(uint64_t id);
  Result<ExecutionResult> call(const char* method, uint64_t id, const Request& packed,
                               const ExecuteOptions& options, std::optional<TimePoint> deadline);

  static constexpr uint64_t kPending = ~uint64_t{0};

  const std::shared_ptr<DriverConnection> connection_;
  const std::shared_ptr<const Model> model_;
  const HalVersion version_;
  const bool takesAttributes_;
  const Priority priority_;
  const RemoteFencing fencing_;
  const OperandSizes sizes_;
  const std::shared_ptr<PendingKey> pending_;  // null: it was known from the start
  mutable std::atomic<uint64_t> id_;           // kPending until somebody has waited for it
  ArgumentPacker packer_;                      // for executions without a lane
  RingLanes lanes_;
  std::atomic<bool> usesRings_ = true;
  std::atomic<uint64_t> traceContext_ = 0;  // what the driver knows it by
};

}  // namespace halyard::hal
