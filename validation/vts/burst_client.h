// BurstClient: the client's end of a burst. It can send any datums (docs/burst_format.md).
// Thread safety: one thread.
// Ownership: keeps the connection. Its end also ends the burst in the driver.
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
  // The values that are sent about the channels. The channels' memory is always valid.
  uint32_t elementSize = sizeof(hal::Datum);
  bool hasEventWord = true;
  bool nullCallback = false;
  std::optional<uint32_t> saidCapacity = {};
  // The descriptor that is sent in place of the ring's doorbell. -1: no descriptor, as clients of
  // earlier schemas do.
  std::optional<int> doorbell = {};
};

struct BurstAnswer {
  Code status = Code::NONE;
  uint32_t operands = 0;
  std::vector<hal::OutputShape> shapes;
  hal::Timing timing;
  std::vector<hal::Datum> datums;  // as received
};

class BurstClient {
 public:
  // The result of configureExecutionBurst. OK without a client if the driver has refused.
  struct Opened {
    Code status = Code::NONE;
    bool hasContext = false;
    std::string message;
    bool takesDoorbell = false;
    UniqueFd driversDoorbell;  // for a client that has no doorbell
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
  // Sends the packet and waits for the answer. An error without an answer, or if it is not well
  // formed.
  Result<BurstAnswer> exchange(std::span<const hal::Datum> packet);

  // Sets the memory of a slot for the driver's questions. Null: the answer is that the slot is
  // empty.
  void setSlot(int32_t slot, SharedMemoryPtr memory);
  // Wakes the driver as clients of an earlier schema do: writes to the driver's eventfd after each
  // packet. The caller keeps it open.
  void wakeBy(int driversDoorbell) { driversDoorbell_ = driversDoorbell; }
  // Answers the driver's next question with one memory less than it asks for.
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
