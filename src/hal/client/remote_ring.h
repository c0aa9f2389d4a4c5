// RemoteRing: a burst of a prepared model in a driver's process: the ring, and the calls that
// belong to it (docs/burst_format.md).
// Thread safety: one execution at a time.
// Ownership: keeps the driver running. Its destruction ends the burst in the driver.
#pragma once

#include <memory>
#include <vector>

#include "hal/client/driver_connection.h"
#include "hal/ring/memory_slots.h"
#include "hal/ring/packets.h"
#include "hal/ring/recording_numbers.h"
#include "hal/ring/ring_client.h"

namespace halyard::hal {

class RemoteRing {
 public:
  // `preparedModel`: its key in DriverConnection::Side::preparedModels. Returns the driver's error
  // if it refuses. MISSED_DEADLINE_TRANSIENT without an answer by `until`. OP_FAILED without
  // `until` and without an answer in time.
  static Result<std::unique_ptr<RemoteRing>> open(std::shared_ptr<DriverConnection> connection,
                                                  uint64_t preparedModel, HalVersion version,
                                                  std::optional<TimePoint> until,
                                                  uint32_t requestCapacity = kDefaultQueueCapacity,
                                                  uint32_t resultCapacity = kDefaultQueueCapacity);
  ~RemoteRing();
  RemoteRing(const RemoteRing&) = delete;
  RemoteRing& operator=(const RemoteRing&) = delete;

  struct Outcome {
    enum class State {
      NOT_SENT,  // The caller may send the request another way.
      ANSWERED,
      LOST,  // The ring is unusable, and the driver may still be executing the request.
    };
    State state = State::ANSWERED;
    ExecutionResult result;
    bool namesDriver = false;  // The status already names the driver.
  };
  // Executes a request that the ring takes. Its arguments are in pools, or omitted.
  // MISSED_DEADLINE_TRANSIENT without an answer shortly after the deadline. `what` names the call
  // in errors.
  Outcome execute(const Request& request, const ExecuteOptions& options, size_t outputs,
                  const char* what);
  // As execute, for a request that is computed repeatedly with the same memory. If the driver has
  // room, it keeps the request. Later computations then send a short packet that runs it. `key`:
  // see RecordingNumbers.
  Outcome executeRecorded(uint64_t key, const Request& request, const ExecuteOptions& options,
                          size_t outputs, const char* what);
  // The ring's recordings. They may outlive the ring.
  const std::shared_ptr<RecordingNumbers>& recordings() const { return recordings_; }
  // Whether this ring can execute the request.
  bool takes(const Request& request, const ExecuteOptions& options) const;

 private:
  struct Link;
  RemoteRing(std::shared_ptr<DriverConnection> connection, HalVersion version)
      : connection_(std::move(connection)), version_(version) {}

  Status connect(uint64_t preparedModel, const RingClient::Channels& channels,
                 uint32_t requestCapacity, uint32_t resultCapacity, std::optional<TimePoint> until);
  void createRecordings();
  // Whether packets contain deadlines and loop timeouts.
  bool timed() const { return extended_ && version_ >= HalVersion::V1_3; }
  void encode(const Request& request, const ExecuteOptions& options);
  // Sends packet_ and waits for the answer.
  Outcome exchange(const ExecuteOptions& options, size_t outputs, const char* what);
  Outcome ended(RingClient::Wait how, const ExecuteOptions& options, const char* what);

  const std::shared_ptr<DriverConnection> connection_;
  const HalVersion version_;
  std::shared_ptr<Link> link_;
  std::shared_ptr<MemorySlots> slots_;
  std::shared_ptr<RecordingNumbers> recordings_;
  std::shared_ptr<RingClient> client_;
  bool extended_ = false;
  bool takesTokens_ = false;
  std::vector<int32_t> requestSlots_;
  std::vector<Datum> packet_;
};

}  // namespace halyard::hal
