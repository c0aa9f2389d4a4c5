// ServedRing: the driver's end of a burst: takes packets, executes, answers (docs/burst_format.md).
// Thread safety: serve and step: one thread at a time, as an executor has it; the rest: any thread.
// Ownership: owns its ends of the queues, and keeps the client's memories mapped by slot.
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
  // The most memories that are kept mapped for a ring.
  static constexpr size_t kMaxSlots = 1024;

  struct Parts {
    DatumQueue requests;
    DatumQueue results;
    std::shared_ptr<const Model> model;
    std::shared_ptr<PreparedModel> preparedModel;
    HalVersion version = HalVersion::V1_2;  // of the errors that the client knows
    bool extended = false;                  // the client knows Halyard's own datums
    // Asks the client for the memories in these slots, ascending; must not block. The answer is one
    // call of memoriesArrived.
    std::function<void(std::vector<int32_t> slots)> fetchMemories;
    // The client wakes the driver with it. It is checked, and only to be watched.
    ForeignFd doorbell = {};
    std::shared_ptr<Quota> quota = nullptr;             // null: no limits
    std::shared_ptr<ForeignAccount> closing = nullptr;  // as of OfferedMemories::create
    // Shared by the threads that wait actively for packets.
    std::shared_ptr<SpinGate> spinGate = std::make_shared<SpinGate>();
  };
  static Result<std::shared_ptr<ServedRing>> create(Parts parts);

  // The client's doorbell, which is only watched, and an eventfd of this process, which is not
  // read.
  std::array<int, 2> descriptors() const override { return {wakeUp_.get(), parts_.doorbell.get()}; }
  // Has the ring served, as the client's doorbell does.
  void wake() const;
  // The client's end of the memory channel, to be given away; invalid without a channel.
  UniqueFd takeMemoryChannel() { return std::move(clientEnd_); }
  // The client gives up a slot.
  void freeMemory(int32_t slot);
  // The client gives up a recording. An unknown number is harmless.
  void freeRecording(uint32_t number);
  // The answer to fetchMemories: one for each slot, or why not.
  void memoriesArrived(Result<std::vector<PoolDescription>> memories);
  // Takes no more packets; a running execution ends by itself.
  void close();
  bool closed() const { return closed_.load(std::memory_order_relaxed); }

  // Takes packets and answers them until none comes for a while, or other work waits.
  Outcome serve(const FairExecutor::Turn& turn) override;

  enum class Step {
    IDLE,     // nothing is waiting
    SERVED,   // a packet has been answered
    WAITING,  // for memoriesArrived
    ENDED,    // the ring is closed, or the client has damaged it
  };
  // The next packet. `serve` calls it; tests call it instead.
  Step step();
  void announceSleep() { reader_.announceSleep(); }

 private:
  explicit ServedRing(Parts parts);

  // Waits actively for the next packet. False: no packet has come, or is expected soon.
  bool spin(const FairExecutor::Turn& turn);
  bool changed() const { return reader_.changed() || closed() || hasNews_.load(); }
  // The core that the client ran on last; kUnknownCore if it has not said so.
  uint32_t clientCore() const { return reader_.writerCore() - 1; }
  Step takePacket(uint32_t datums);
  bool memoriesHaveArrived();
  Step resume();
  // Sorted, each once; kNoSlot and negative ones are left out.
  std::vector<int32_t> unknownSlots(const std::vector<int32_t>& slots);
  bool takeOffered(const std::vector<int32_t>& slots);
  Status addArrived();
  // A memory of the client. A recording keeps it, and its charge, beyond its slot's end.
  struct Slot {
    ReceivedPool pool;
    Quota::Charge descriptor;
  };
  using SlotPtr = std::shared_ptr<const Slot>;
  // A request that is kept, with its execution.
  struct Recording {
    std::vector<SlotPtr> memories;
    ImportedRequest request;
    std::unique_ptr<ReusableExecution> execution = nullptr;  // of `request`
  };
  ExecutionResult execute(RequestPacket packet);
  ExecutionResult record(ImportedRequest imported, std::vector<SlotPtr> memories, uint32_t number,
                         const ExecuteOptions& options);
  ExecutionResult runRecording(std::span<const Datum> packet);
  // With what its memory holds now.
  ExecutionResult compute(Recording& recording, const ExecuteOptions& options);
  // The memories of the packet. Its recording, if it makes one, ends from now on when the client
  // frees one of them.
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
  std::atomic<bool> hasNews_ = false;  // there is something in the mutex's part for step

  std::mutex mutex_;
  std::map<int32_t, SlotPtr> slots_;
  std::array<std::vector<int32_t>, kMaxRecordings> recordedSlots_;
  std::bitset<kMaxRecordings> stale_;  // recordings that the thread that serves is to drop
  std::optional<OfferedMemories> offered_;
  std::vector<int32_t> asked_;
  std::vector<int32_t> freedMeanwhile_;  // of those that are asked for
  std::optional<Result<std::vector<PoolDescription>>> arrived_;

  // Of the thread that serves.
  std::vector<Datum> packet_;
  std::vector<Datum> reply_;
  std::optional<RequestPacket> waiting_;  // for its memories
  std::array<std::unique_ptr<Recording>, kMaxRecordings> recordings_;
  Expectation gap_;  // from an answer to the next packet
  std::optional<TimePoint> answered_;
};

}  // namespace halyard::hal
