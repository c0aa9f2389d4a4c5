// RemotePreparedModel: a prepared model in a driver's process.
// Thread safety: as hal::PreparedModel.
// Ownership: keeps its driver running; its destruction frees the model in the driver.
#pragma once

#include <atomic>
#include <memory>

#include "hal/checks/operand_sizes.h"
#include "hal/client/argument_packer.h"
#include "hal/client/driver_connection.h"
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
  // `id`: the model's key in DriverConnection::Side::preparedModels.
  RemotePreparedModel(Parts parts, uint64_t id);
  ~RemotePreparedModel() override;

  ExecutionResult executeSynchronously(const Request& request,
                                       const ExecuteOptions& options) override;
  // Checked and packed once; the driver keeps the request for a ring, where it can.
  Result<std::unique_ptr<ReusableExecution>> createReusableExecution(
      const Request& request) override;
  Status saveToCache(int modelCache, int dataCache, const Token& token) override;

  const std::shared_ptr<DriverConnection>& connection() const { return connection_; }
  uint64_t id() const { return id_; }
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
  // The same for the lane of a burst; for any lane if it is null.
  Result<std::unique_ptr<ReusableExecution>> recordIn(std::shared_ptr<RingLane> lane,
                                                      const Request& request);
  // Whether executions without a burst use rings; they do from the start.
  void useRings(bool use) { usesRings_ = use; }

 private:
  class Reusable;

  FencedResult executeFencedHere(const Request& request, std::vector<ForeignFd> pending,
                                 const ExecuteOptions& options,
                                 std::optional<std::chrono::nanoseconds> duration);
  Result<ExecutionResult> executeRemotely(RingLane* lane, const Request& request,
                                          const ExecuteOptions& options);
  Status check(const Request& request) const;
  // Of the driver's executions: older drivers know none, and their clients are not to notice the
  // difference.
  std::optional<TimePoint> deadlineOf(const ExecuteOptions& options) const;
  // Before each execution: the deadline has not passed, and the lane has a ring if it can have one.
  Status begin(RingLane* lane, const ExecuteOptions& options);
  // Has the driver compute the request, by the lane's ring or a call, and brings the results back.
  // `key`: of a request that is computed again and again; 0 for others.
  Result<ExecutionResult> carry(RingLane* lane, ArgumentPacker::PackedRequest& packed, uint64_t key,
                                const ExecuteOptions& options);
  // Before an execution that is traced: see DriverConnection::traceModel.
  void nameInTrace();
  Result<ExecutionResult> call(const char* method, const Request& packed,
                               const ExecuteOptions& options, std::optional<TimePoint> deadline);

  const std::shared_ptr<DriverConnection> connection_;
  const std::shared_ptr<const Model> model_;
  const HalVersion version_;
  const bool takesAttributes_;
  const Priority priority_;
  const RemoteFencing fencing_;
  const OperandSizes sizes_;
  const uint64_t id_;
  ArgumentPacker packer_;  // for executions without a lane
  RingLanes lanes_;
  std::atomic<bool> usesRings_ = true;
  std::atomic<uint64_t> traceContext_ = 0;  // what the driver knows it by
};

}  // namespace halyard::hal
