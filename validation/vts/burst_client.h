// BurstClient: the client's end of a burst, which can send any datums (docs/burst_format.md).
// Thread safety: one thread. Ownership: keeps the connection; dropped, the burst ends in the
// driver.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "hal/ring/packets.h"
#include "hal/ring/ring_client.h"
#include "validation/vts/hal_client.h"

namespace halyard::validation {

struct BurstOptions {
  uint32_t requestCapacity = hal::kDefaultQueueCapacity;
  uint32_t resultCapacity = hal::kDefaultQueueCapacity;
  // What is said of the channels; the memory is right.
  uint32_t elementSize = sizeof(hal::Datum);
  bool hasEventWord = true;
  bool nullCallback = false;
  std::optional<uint32_t> saidCapacity = {};
  // What is sent in place of the ring's doorbell; -1: nothing, as clients of earlier schemas do.
  std::optional<int> doorbell = {};
};

struct BurstAnswer {
  Code status = Code::NONE;
  uint32_t operands = 0;
  std::vector<hal::OutputShape> shapes;
  hal::Timing timing;
  std::vector<hal::Datum> datums;  // as they came
};

class BurstClient {
 public:
  // What configureExecutionBurst came to. OK without a client: the driver refused.
  struct Opened {
    Code status = Code::NONE;
    bool hasContext = false;
    std::string message;
    bool takesDoorbell = false;
    UniqueFd driversDoorbell;  // for a client that has none
    std::unique_ptr<BurstClient> burst;
  };
  static Result<Opened> open(HalClient& client, const DriverObjectPtr& model,
                             const BurstOptions& options = {});
  ~BurstClient();
  BurstClient(const BurstClient&) = delete;
  BurstClient& operator=(const BurstClient&) = delete;

  // The packet of a request with these slots for its pools.
  static std::vector<hal::Datum> packetFor(const hal::Request& request,
                                           const std::vector<int32_t>& slots, bool measure = false);
  // Sends it and waits for the answer. An error when there is none, or none that is well formed.
  Result<BurstAnswer> exchange(std::span<const hal::Datum> packet);

  // What is in a slot when the driver asks; null: it is told that there is nothing.
  void setSlot(int32_t slot, SharedMemoryPtr memory);
  // Wakes the driver as clients of an earlier schema do: writes to this eventfd, the driver's,
  // after each packet. The caller keeps it open.
  void wakeBy(int driversDoorbell) { driversDoorbell_ = driversDoorbell; }
  // Answers the next question of the driver with one memory too few.
  void answerTooFew();
  size_t questions() const;
  Status freeMemory(int32_t slot);

 private:
  struct Slots;
  class Callback;
  BurstClient() = default;

  std::shared_ptr<hal::DriverConnection> connection_;
  std::shared_ptr<Slots> slots_;
  std::shared_ptr<hal::RingClient> ring_;
  std::optional<uint64_t> key_;  // in Side::bursts
  int driversDoorbell_ = -1;
};

}  // namespace halyard::validation
