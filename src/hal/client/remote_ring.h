// RemoteRing: a burst of a prepared model in a driver's process: the ring, and what goes with it
// over the connection (docs/burst_format.md).
// Thread safety: one execution at a time.
// Ownership: keeps the driver running; its destruction ends the burst in the driver.
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
  // `preparedModel`: its key in DriverConnection::Side::preparedModels. The driver's refusal is
  // OP_FAILED, or whatever it says; MISSED_DEADLINE_TRANSIENT if it has said nothing until then.
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
  // The request's arguments are in pools, or omitted, and its pools shared memory. A driver that
  // does not answer is given up shortly after the deadline: MISSED_DEADLINE_TRANSIENT. `what` names
  // the call in errors.
  Outcome execute(const Request& request, const ExecuteOptions& options, size_t outputs,
                  const char* what);
  // The same for a request that is computed again and again, with the same memory. The driver keeps
  // it, if it has room, and a packet of its own runs it from then on. `key`: as of
  // RecordingNumbers.
  Outcome executeRecorded(uint64_t key, const Request& request, const ExecuteOptions& options,
                          size_t outputs, const char* what);
  // The ring's recordings. They may outlive it.
  const std::shared_ptr<RecordingNumbers>& recordings() const { return recordings_; }
  // Whether a request can go this way at all.
  bool takes(const Request& request, const ExecuteOptions& options) const;

 private:
  struct Link;
  RemoteRing(std::shared_ptr<DriverConnection> connection, HalVersion version)
      : connection_(std::move(connection)), version_(version) {}

  Status connect(uint64_t preparedModel, const RingClient::Channels& channels,
                 uint32_t requestCapacity, uint32_t resultCapacity, std::optional<TimePoint> until);
  void createRecordings();
  // Whether deadlines and loop timeouts are put in packets.
  bool timed() const { return extended_ && version_ >= HalVersion::V1_3; }
  void encode(const Request& request, const ExecuteOptions& options);
  // Sends packet_, and waits for the answer.
  Outcome exchange(const ExecuteOptions& options, size_t outputs, const char* what);
  Outcome ended(RingClient::Wait how, const ExecuteOptions& options, const char* what);

  const std::shared_ptr<DriverConnection> connection_;
  const HalVersion version_;
  std::shared_ptr<Link> link_;
  std::shared_ptr<MemorySlots> slots_;
  std::shared_ptr<RecordingNumbers> recordings_;
  std::shared_ptr<RingClient> client_;
  bool extended_ = false;
  std::vector<int32_t> requestSlots_;
  std::vector<Datum> packet_;
};

}  // namespace halyard::hal
