// RingPair: both ends of a ring in one process, without a connection. For tests and fuzzing.
// Thread safety: the thread of the test only. Ownership: owns the executor and both ends.
#pragma once

#include <fcntl.h>

#include <condition_variable>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/fair_executor.h"
#include "hal/ring/memory_slots.h"
#include "hal/ring/ring_client.h"
#include "hal/ring/served_ring.h"
#include "hal/testing/test_device.h"

namespace halyard::hal::testing {

inline PoolDescription describe(const SharedMemory& memory) {
  PoolDescription pool;
  pool.kind = static_cast<uint32_t>(memory.kind());
  pool.size = memory.size();
  pool.prot = 3;
  pool.offset = memory.offset();
  pool.fd.reset(::fcntl(memory.fd(), F_DUPFD_CLOEXEC, 0));
  return pool;
}

inline UniqueFd copyOf(int fd) { return UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, 0)); }

inline const std::vector<float> kRingInputs = {1, 2, 3, 4, 10, 20, 30, 40};

inline SharedMemoryPtr sharedFloats(const std::vector<float>& values) {
  const auto memory = SharedMemory::create(values.size() * sizeof(float), "test").value();
  std::memcpy(memory->mapped().value()->data(), values.data(), memory->size());
  return memory;
}

inline std::vector<float> floatsIn(const SharedMemory& memory) {
  std::vector<float> values(memory.size() / sizeof(float));
  std::memcpy(values.data(), memory.mapped().value()->data(), memory.size());
  return values;
}

inline RequestArgument fourFloats(uint32_t pool, uint32_t offset, uint32_t length) {
  RequestArgument argument;
  argument.kind = RequestArgument::Kind::POOL;
  argument.location = {pool, offset, length};
  argument.dimensions = {4};
  return argument;
}

// Inputs a and b from pool 0, the output to pool 1.
inline Request ringRequest(SharedMemoryPtr in, SharedMemoryPtr out) {
  Request request;
  request.inputs = {fourFloats(0, 0, 16), fourFloats(0, 16, 16)};
  request.outputs = {fourFloats(1, 0, 16)};
  request.pools = {std::move(in), std::move(out)};
  return request;
}

// Blocks executions until the gate is opened.
class GatedModel final : public PreparedModel {
 public:
  ExecutionResult executeSynchronously(const Request&, const ExecuteOptions& options) override {
    std::unique_lock lock(mutex_);
    ++inside_;
    options_ = options;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    --inside_;
    return {};
  }
  void awaitInside(unsigned count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return inside_ == count; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  ExecuteOptions options() {
    const std::lock_guard lock(mutex_);
    return options_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  unsigned inside_ = 0;
  bool open_ = false;
  ExecuteOptions options_;
};

// A client, and a driver with a model out[4] = a[4] + b[4].
class RingPair {
 public:
  struct Options {
    uint32_t requestCapacity = kDefaultQueueCapacity;
    uint32_t resultCapacity = kDefaultQueueCapacity;
    bool extended = true;
    unsigned maxThreads = 4;
    std::shared_ptr<PreparedModel> preparedModel;  // null: that of a TestDevice
    bool answersFetches = true;
    bool offers = false;  // sends memories before the driver requests them
  };
  explicit RingPair(Options options) : options_(std::move(options)) {
    device_ = std::make_shared<TestDevice>();
    model_ = std::make_shared<const Model>(addModel(4));
    prepared_ = options_.preparedModel != nullptr
                    ? options_.preparedModel
                    : device_->prepareModel(validated(model_).value(), {}).value();
    executor_ = std::make_unique<FairExecutor>(
        FairExecutor::Options{options_.maxThreads, options_.maxThreads});
    channels_ =
        RingClient::createChannels(options_.requestCapacity, options_.resultCapacity).value();
    client_ = RingClient::create(channels_, options_.requestCapacity, options_.resultCapacity,
                                 std::make_shared<SpinGate>())
                  .value();
    slots_ = MemorySlots::create([this](int32_t slot) {
      if (ring_ != nullptr) ring_->freeMemory(slot);
      freed_.push_back(slot);
    });
    ServedRing::Parts parts{
        DatumQueue::map(*channels_.requests, {options_.requestCapacity, sizeof(Datum), true})
            .value(),
        DatumQueue::map(*channels_.results, {options_.resultCapacity, sizeof(Datum), true}).value(),
        model_,
        prepared_,
        HalVersion::V1_3,
        options_.extended,
        [this](std::vector<int32_t> slots) { fetch(std::move(slots)); },
        ForeignFd(copyOf(client_->doorbell()))};
    ring_ = ServedRing::create(std::move(parts)).value();
    channel_ = ring_->takeMemoryChannel();
    if (options_.offers) {
      slots_->offerBy([this](int32_t slot, const SharedMemory& memory) {
        (void)offerMemory(channel_.get(), slot, memory);
      });
    }
    (void)executor_->add(ring_, executor_->openLane({}), ThreadClass::NORMAL);
  }
  ~RingPair() {
    removeRing();
    executor_.reset();
    slots_.reset();
  }
  RingPair(const RingPair&) = delete;
  RingPair& operator=(const RingPair&) = delete;

  // Sends the packet and waits for the answer. nullopt when the ring has ended, or when no answer
  // arrives for a long time.
  std::optional<ExecutionResult> exchange(std::span<const Datum> packet) {
    if (!client_->send(packet)) return std::nullopt;
    return answer();
  }
  std::optional<ExecutionResult> answer() {
    lastWait_ = client_->wait(Clock::now() + std::chrono::seconds(60));
    if (lastWait_ != RingClient::Wait::ANSWERED) return std::nullopt;
    const auto datums = client_->takeAnswer();
    answer_.assign(datums.begin(), datums.end());
    ExecutionResult result;
    const Status wellFormed = decodeResultPacket(answer_, 1, &result);
    if (!wellFormed.ok()) result.status = wellFormed;
    return result;
  }
  std::vector<Datum> packetFor(const Request& request, const ExecuteOptions& options = {}) {
    std::vector<int32_t> slots;
    for (const RequestPool& pool : request.pools) {
      slots.push_back(slots_->slotOf(std::get<SharedMemoryPtr>(pool)));
    }
    std::vector<Datum> packet;
    encodeRequestPacket(request, slots, options, options_.extended, &packet);
    return packet;
  }

  // The same, with a request that the driver keeps under a number.
  std::vector<Datum> recordPacketFor(uint32_t number, const Request& request) {
    std::vector<Datum> packet = packetFor(request);
    appendRecording(number, &packet);
    return packet;
  }

  RingClient& client() { return *client_; }
  ServedRing& ring() { return *ring_; }
  int memoryChannel() const { return channel_.get(); }
  FairExecutor& executor() { return *executor_; }
  void removeRing() {
    executor_->remove(*ring_);
    ring_->close();
  }
  MemorySlots& slots() { return *slots_; }
  TestDevice& device() { return *device_; }
  const RingClient::Channels& channels() const { return channels_; }
  const std::vector<Datum>& lastAnswer() const { return answer_; }
  RingClient::Wait lastWait() const { return lastWait_; }
  // The slots that the driver has requested. freed() has those that the client has freed.
  std::vector<std::vector<int32_t>> fetches() {
    const std::lock_guard lock(mutex_);
    return fetches_;
  }
  const std::vector<int32_t>& freed() const { return freed_; }
  // Replaces the answer to the next fetch, once.
  void answerNextFetch(std::function<Result<std::vector<PoolDescription>>()> answer) {
    const std::lock_guard lock(mutex_);
    nextAnswer_ = std::move(answer);
  }

 private:
  void fetch(std::vector<int32_t> wanted) {
    std::function<Result<std::vector<PoolDescription>>()> special;
    {
      const std::lock_guard lock(mutex_);
      fetches_.push_back(wanted);
      special.swap(nextAnswer_);
    }
    if (special != nullptr) return ring_->memoriesArrived(special());
    if (!options_.answersFetches) return;
    const auto memories = slots_->memoriesOf(wanted);
    if (!memories.ok()) return ring_->memoriesArrived(memories.status());
    std::vector<PoolDescription> pools;
    for (const SharedMemoryPtr& memory : *memories) pools.push_back(describe(*memory));
    ring_->memoriesArrived(std::move(pools));
  }

  const Options options_;
  std::shared_ptr<TestDevice> device_;
  std::shared_ptr<const Model> model_;
  std::shared_ptr<PreparedModel> prepared_;
  std::unique_ptr<FairExecutor> executor_;
  RingClient::Channels channels_;
  std::shared_ptr<RingClient> client_;
  std::shared_ptr<MemorySlots> slots_;
  std::shared_ptr<ServedRing> ring_;
  UniqueFd channel_;
  std::vector<Datum> answer_;
  RingClient::Wait lastWait_ = RingClient::Wait::ANSWERED;
  std::vector<int32_t> freed_;
  std::mutex mutex_;
  std::vector<std::vector<int32_t>> fetches_;
  std::function<Result<std::vector<PoolDescription>>()> nextAnswer_;
};

}  // namespace halyard::hal::testing
