// ServedRing: the driver's end of a burst: reads packets, executes them and answers
// (docs/burst_format.md).
// Thread safety: serve, step and announceSleep: one thread at a time, as in an executor.
// takeMemoryChannel: before other threads use the ring. The other functions: any thread.
// Ownership: owns its ends of the queues. Keeps the client's memories mapped, by slot.
#pragma once

#include <array>
#include <bitset>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/fair_executor.h"
#include "base/foreign_fd.h"
#include "hal/checks/request_import.h"
#include "hal/ring/datum_queue.h"
#include "hal/ring/memory_channel.h"
#include "hal/ring/packets.h"
#include "hal/ring/spinning.h"
#include "halyard/driver/device.h"
#include "halyard/driver/unique_fd.h"

namespace halyard::hal {

class ServedRing final : public FairExecutor::Source {
 public:
  // The maximum number of mapped memories of a ring.
  static constexpr size_t kMaxSlots = 1024;

  struct Parts {
    DatumQueue requests;
    DatumQueue results;
    std::shared_ptr<const Model> model;
    std::shared_ptr<PreparedModel> preparedModel;
    HalVersion version = HalVersion::V1_2;  // for the client's error codes
    bool extended = false;                  // the client knows Halyard's own datums
    // Asks the client for the memories in these slots, in ascending order. Must not block. The
    // answer is one call of memoriesArrived.
    std::function<void(std::vector<int32_t> slots)> fetchMemories;
    // The client wakes the driver with it. It must be checked before, and is only watched.
    ForeignFd doorbell = {};
    std::shared_ptr<Quota> quota = nullptr;             // null: no limits
    std::shared_ptr<ForeignAccount> closing = nullptr;  // see OfferedMemories::create
    // Shared by the threads that poll for packets.
    std::shared_ptr<SpinGate> spinGate = std::make_shared<SpinGate>();
    bool takesCopied = false;  // the client knows ResultTag::COPIED
  };
  static Result<std::shared_ptr<ServedRing>> create(Parts parts);

  // The client's doorbell, which is only watched, and an eventfd of this process, which is never
  // read.
  std::array<int, 2> descriptors() const override { return {wakeUp_.get(), parts_.doorbell.get()}; }
  // Wakes the thread that serves the ring, as the client's doorbell does.
  void wake() const;
  // The client's end of the memory channel. The first call moves it to the caller. Invalid without
  // a channel.
  UniqueFd takeMemoryChannel() { return std::move(clientEnd_); }
  // Frees a slot for the client.
  void freeMemory(int32_t slot);
  // Frees a recording for the client. Unknown numbers are ignored.
  void freeRecording(uint32_t number);
  // The answer to fetchMemories: one memory for each slot, or the error.
  void memoriesArrived(Result<std::vector<PoolDescription>> memories);
  // Accepts no more packets. A running execution completes.
  void close();
  bool closed() const { return closed_.load(std::memory_order_relaxed); }

  // Answers packets until no packet arrives for a while, or other work waits.
  Outcome serve(const FairExecutor::Turn& turn) override;

  enum class Step {
    IDLE,     // no packet waits
    SERVED,   // a packet was answered
    WAITING,  // for memoriesArrived
    ENDED,    // the ring is closed, or the client has damaged it
  };
  // Processes the next packet. `serve` calls it. Tests call it directly.
  Step step();
  void announceSleep() { reader_.announceSleep(); }

 private:
  explicit ServedRing(Parts parts);

  // Polls for the next packet. Returns false when no packet has arrived, or is expected soon.
  bool spin(const FairExecutor::Turn& turn);
  bool changed() const { return reader_.changed() || closed() || hasNews_.load(); }
  // The client's last core, or kUnknownCore.
  uint32_t clientCore() const { return reader_.writerCore() - 1; }
  Step takePacket(uint32_t datums);
  bool memoriesHaveArrived();
  Step resume();
  // The slots without memory, sorted and unique. Leaves out kNoSlot and negative slots.
  std::vector<int32_t> unknownSlots(const std::vector<int32_t>& slots);
  bool takeOffered(const std::vector<int32_t>& slots);
  Status addArrived();
  // A memory of the client. A recording keeps it, and its charge, after its slot is freed.
  struct Slot {
    ReceivedPool pool;
    Quota::Charge descriptor;
  };
  using SlotPtr = std::shared_ptr<const Slot>;
  // A recorded request with its execution.
  struct Recording {
    std::vector<SlotPtr> memories;  // null for a token
    ImportedRequest request;
    std::unique_ptr<ReusableExecution> execution = nullptr;  // of `request`
  };
  ExecutionResult execute(RequestPacket packet);
  ExecutionResult record(ImportedRequest imported, std::vector<SlotPtr> memories, uint32_t number,
                         const ExecuteOptions& options);
  ExecutionResult runRecording(std::span<const Datum> packet);
  // Computes the recording with the current data of its memory.
  ExecutionResult compute(Recording& recording, const ExecuteOptions& options);
  // The memories of the packet; null for a token. If the packet makes a recording, the recording
  // ends when the client frees one of these slots.
  Result<std::vector<SlotPtr>> memoriesOf(const RequestPacket& packet);
  Result<ImportedRequest> import(RequestPacket& packet, const std::vector<SlotPtr>& memories) const;
  void dropStale();
  void answer(const ExecutionResult& result);

  Result<std::vector<SlotPtr>> openArrived(
      std::optional<Result<std::vector<PoolDescription>>> arrived, size_t asked) const;

  const Parts parts_;
  QueueReader reader_;
  QueueWriter writer_;
  UniqueFd wakeUp_;
  UniqueFd clientEnd_;
  std::atomic<bool> closed_ = false;
  std::atomic<bool> hasNews_ = false;  // step has data to process under the mutex

  std::mutex mutex_;
  std::map<int32_t, SlotPtr> slots_;
  std::array<std::vector<int32_t>, kMaxRecordings> recordedSlots_;
  std::bitset<kMaxRecordings> stale_;  // recordings to drop in step
  std::optional<OfferedMemories> offered_;
  std::vector<int32_t> asked_;
  std::vector<int32_t> freedMeanwhile_;  // while they were asked for
  std::optional<Result<std::vector<PoolDescription>>> arrived_;

  // Only for the thread that serves.
  std::vector<Datum> packet_;
  std::vector<Datum> reply_;
  std::optional<RequestPacket> waiting_;  // for its memories
  std::array<std::unique_ptr<Recording>, kMaxRecordings> recordings_;
  Expectation gap_;          // the client's work from an answer to the next packet
  bool wokeClient_ = false;  // for the last answer
  Parting parting_;
  TimePoint started_;  // the work on the last packet
  std::optional<TimePoint> answered_;
};

}  // namespace halyard::hal
