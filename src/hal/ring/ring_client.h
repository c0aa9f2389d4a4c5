// RingClient: the client's end of a burst: sends packets and waits for answers
// (docs/burst_format.md).
// Thread safety: one thread at a time. end and hasEnded may be called from any thread.
// Ownership: owns the queues and the doorbell. Shares the gate with other rings.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "hal/ring/datum_queue.h"
#include "hal/ring/doorbell.h"
#include "hal/ring/spinning.h"

namespace halyard::hal {

class RingClient {
 public:
  // The memory of both queues, for the driver: parts of one file.
  struct Channels {
    SharedMemoryPtr requests;
    SharedMemoryPtr results;
    std::shared_ptr<const Mapping> mapping;  // of both: requests, then results
  };
  static Result<Channels> createChannels(uint32_t requestCapacity, uint32_t resultCapacity);
  static Result<std::shared_ptr<RingClient>> create(const Channels& channels,
                                                    uint32_t requestCapacity,
                                                    uint32_t resultCapacity,
                                                    std::shared_ptr<SpinGate> gate);

  // The descriptor for the driver, which watches it.
  int doorbell() const { return doorbell_.watched(); }

  // Returns false, and sends nothing, when the packet does not fit.
  bool send(std::span<const Datum> packet);
  enum class Wait {
    ANSWERED,
    TIMED_OUT,
    ENDED,   // by end()
    CLOSED,  // by the driver
    SPOILT,  // by the driver: its position is invalid
  };
  // Waits for an answer until `until`, and at most for `atMost`.
  Wait wait(std::optional<TimePoint> until,
            std::optional<std::chrono::nanoseconds> atMost = std::nullopt);
  // Whether the next wait polls before it sleeps.
  bool expectsShortWork() const { return service_.isShort(); }
  // Reads the answer after ANSWERED. Valid until the next call.
  std::span<const Datum> takeAnswer();
  // Ends all waits, now and later. No more answers are expected.
  void end();
  bool hasEnded() const { return ended_.load(std::memory_order_relaxed); }

 private:
  RingClient(DatumQueue requests, DatumQueue results, Doorbell doorbell,
             std::shared_ptr<SpinGate> gate)
      : requests_(std::move(requests)),
        results_(std::move(results)),
        doorbell_(std::move(doorbell)),
        gate_(std::move(gate)) {}

  std::optional<Wait> look() const;
  void sleep(TimePoint wake);

  const DatumQueue requests_;
  const DatumQueue results_;
  const Doorbell doorbell_;
  const std::shared_ptr<SpinGate> gate_;
  QueueWriter writer_{requests_};
  QueueReader reader_{results_};
  std::atomic<bool> ended_ = false;
  Expectation service_;                // the driver's work for a request
  bool wokeDriver_ = false;            // for the last request
  std::optional<TimePoint> answered_;  // the end of the last wait
  std::vector<Datum> answer_;
};

}  // namespace halyard::hal
