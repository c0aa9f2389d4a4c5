// RingClient: the client's end of a burst: sends packets and waits for answers
// (docs/burst_format.md).
// Thread safety: one thread at a time; end may be called from any.
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
  // The memory of both queues, to be passed to the driver: parts of one file.
  struct Channels {
    SharedMemoryPtr requests;
    SharedMemoryPtr results;
    std::shared_ptr<const Mapping> mapping;  // of both: the requests, and behind them the results
  };
  static Result<Channels> createChannels(uint32_t requestCapacity, uint32_t resultCapacity);
  static Result<std::shared_ptr<RingClient>> create(const Channels& channels,
                                                    uint32_t requestCapacity,
                                                    uint32_t resultCapacity,
                                                    std::shared_ptr<SpinGate> gate);

  // What the driver is to watch, and to be passed to it.
  int doorbell() const { return doorbell_.watched(); }

  // False when the packet has no room: nothing has been sent.
  bool send(std::span<const Datum> packet);
  enum class Wait {
    ANSWERED,
    TIMED_OUT,
    ENDED,   // by end()
    CLOSED,  // by the driver
    SPOILT,  // by the driver: its position makes no sense
  };
  // `atMost`: not longer than that from now on.
  Wait wait(std::optional<TimePoint> until,
            std::optional<std::chrono::nanoseconds> atMost = std::nullopt);
  // After ANSWERED; valid until the next call.
  std::span<const Datum> takeAnswer();
  // Nothing will be answered any more: wakes whoever waits, now and later.
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
  Expectation service_;  // from a request to its answer
  std::vector<Datum> answer_;
};

}  // namespace halyard::hal
