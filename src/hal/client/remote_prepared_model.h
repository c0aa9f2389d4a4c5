// RemotePreparedModel: a prepared model in a driver's process.
// Thread safety: as hal::PreparedModel.
// Ownership: keeps its driver running. Its destruction frees the model in the driver.
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
  // The parts of a prepared model that this process holds.
  struct Parts {
    std::shared_ptr<DriverConnection> connection;
    std::shared_ptr<const Model> model;
    HalVersion version;    // of the methods to use
    bool takesAttributes;  // of extensions
    Priority priority;
    RemoteFencing fencing;
    OperandSizes sizes;  // with the types of the driver's extensions
  };
  // `id`: the model's key in DriverConnection::Side::preparedModels.
  RemotePreparedModel(Parts parts, uint64_t id);
  ~RemotePreparedModel() override;

  ExecutionResult executeSynchronously(const Request& request,
                                       const ExecuteOptions& options) override;
  // Checks the request now, and packs it once. The driver keeps the request for a ring, if it can.
  Result<std::unique_ptr<ReusableExecution>> createReusableExecution(
      const Request& request) override;
  Status saveToCache(int modelCache, int dataCache, const Token& token) override;

  const std::shared_ptr<DriverConnection>& connection() const { return connection_; }
  uint64_t id() const { return id_; }
  // The driver's own executeFenced for HAL 1.3 and arguments in pools that fit into a message.
  // Otherwise this process waits for the fences: an older driver has no fences, and pointers are
  // valid only here. An older driver without pending fences has computed on return, and there is no
  // fence.
  FencedResult executeFenced(const Request& request, std::span<const int> waitFor,
                             const ExecuteOptions& options,
                             std::optional<std::chrono::nanoseconds> duration) override;
  Result<std::unique_ptr<Burst>> configureBurst() override;

  // Executes over the lane's ring, and opens the ring if necessary. Uses the connection without a
  // lane, or when the ring cannot take the request.
  ExecutionResult executeIn(RingLane* lane, const Request& request, const ExecuteOptions& options);
  // A reusable execution over the lane of a burst, or over any lane if `lane` is null.
  Result<std::unique_ptr<ReusableExecution>> recordIn(std::shared_ptr<RingLane> lane,
                                                      const Request& request);
  // Whether executions without a burst use rings. The default is true.
  void useRings(bool use) { usesRings_ = use; }

 private:
  class Reusable;

  FencedResult executeFencedHere(const Request& request, std::vector<ForeignFd> pending,
                                 const ExecuteOptions& options,
                                 std::optional<std::chrono::nanoseconds> duration);
  Result<ExecutionResult> executeRemotely(RingLane* lane, const Request& request,
                                          const ExecuteOptions& options);
  Status check(const Request& request) const;
  // The deadline of the driver's executions. Older drivers have no deadlines, and their clients
  // must not notice the difference.
  std::optional<TimePoint> deadlineOf(const ExecuteOptions& options) const;
  // Before each execution: checks that the deadline has not passed, and opens the lane's ring if
  // possible.
  Status begin(RingLane* lane, const ExecuteOptions& options);
  // Sends the request over the lane's ring or as a call, and copies the results back. `key`: the
  // key of a reusable request; 0 for others.
  Result<ExecutionResult> carry(RingLane* lane, ArgumentPacker::PackedRequest& packed, uint64_t key,
                                const ExecuteOptions& options);
  // Gives the current context to the driver before a traced execution: see
  // DriverConnection::traceModel.
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
  std::atomic<uint64_t> traceContext_ = 0;  // the last context that the driver got
};

}  // namespace halyard::hal
