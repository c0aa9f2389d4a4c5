#include "validation/vts/burst_client.h"

#include <unistd.h>

#include <cstring>

#include "hal/core/error_status.h"
#include "hal/wire/wire_memory.h"
#include "hal/wire/wire_types.h"

namespace halyard::validation {

using Side = hal::DriverConnection::Side;

namespace {

constexpr std::chrono::seconds kAnswerPatience{20};

void encodeQueue(const SharedMemoryPtr& memory, uint32_t capacity, const BurstOptions& options,
                 wire::QueueDescriptor::Builder to) {
  hal::MemoryEncoder().encode(memory, 0, to.initMemory());
  to.setElementCount(options.saidCapacity.value_or(capacity));
  to.setElementSize(options.elementSize);
  to.setHasEventWord(options.hasEventWord);
}

}  // namespace

struct BurstClient::Slots {
  std::mutex mutex;
  std::map<int32_t, SharedMemoryPtr> memories;
  bool tooFew = false;
  size_t questions = 0;
};

class BurstClient::Callback final : public wire::v1_2::IBurstCallback::Server {
 public:
  explicit Callback(std::shared_ptr<Slots> slots) : slots_(std::move(slots)) {}

  kj::Promise<void> getMemories(GetMemoriesContext context) override {
    const std::lock_guard lock(slots_->mutex);
    ++slots_->questions;
    std::vector<SharedMemoryPtr> found;
    auto results = context.getResults();
    for (const int32_t slot : context.getParams().getSlots()) {
      const auto it = slots_->memories.find(slot);
      if (it == slots_->memories.end() || it->second == nullptr) {
        results.setStatus(Code::INVALID_ARGUMENT);
        results.setMessage("the slot is empty");
        return kj::READY_NOW;
      }
      found.push_back(it->second);
    }
    if (slots_->tooFew && !found.empty()) found.pop_back();
    slots_->tooFew = false;
    auto list = results.initMemories(static_cast<unsigned>(found.size()));
    hal::MemoryEncoder encoder;
    for (unsigned i = 0; i < list.size(); ++i) encoder.encode(found[i], i, list[i]);
    return kj::READY_NOW;
  }

 private:
  const std::shared_ptr<Slots> slots_;
};

Result<BurstClient::Opened> BurstClient::open(HalClient& client, const DriverObjectPtr& model,
                                              const BurstOptions& options) {
  HALYARD_ASSIGN_OR_RETURN(
      const hal::RingClient::Channels channels,
      hal::RingClient::createChannels(options.requestCapacity, options.resultCapacity));
  std::unique_ptr<BurstClient> burst(new BurstClient());
  burst->connection_ = client.connection();
  burst->slots_ = std::make_shared<Slots>();
  HALYARD_ASSIGN_OR_RETURN(burst->ring_, hal::RingClient::create(channels, options.requestCapacity,
                                                                 options.resultCapacity,
                                                                 burst->connection_->spinGate()));
  struct Answered {
    Opened opened;
    std::optional<uint64_t> key;
  };
  const int doorbell = options.doorbell.value_or(burst->ring_->doorbell());
  HALYARD_ASSIGN_OR_RETURN(
      Answered answered,
      burst->connection_->call<Answered>(
          "configureExecutionBurst", [&](Side& side) -> kj::Promise<Result<Answered>> {
            auto call = side.preparedModels.at(model->key())
                            .castAs<wire::v1_2::IPreparedModel>()
                            .configureExecutionBurstRequest();
            if (!options.nullCallback) call.setCallback(kj::heap<Callback>(burst->slots_));
            encodeQueue(channels.requests, options.requestCapacity, options,
                        call.initRequestChannel());
            encodeQueue(channels.results, options.resultCapacity, options,
                        call.initResultChannel());
            KJ_IF_MAYBE (file, hal::encodeFile(doorbell)) call.setDoorbell(kj::mv(*file));
            return call.send().then([&side](auto&& response) -> kj::Promise<Result<Answered>> {
              Answered got;
              got.opened.status = response.getStatus();
              got.opened.message = response.getMessage().cStr();
              got.opened.hasContext = response.hasBurstContext();
              got.opened.takesDoorbell = response.getTakesDoorbell();
              if (got.opened.hasContext) {
                got.key = side.nextBurst++;
                side.bursts.emplace(*got.key, response.getBurstContext());
              }
              if (!response.hasDoorbell()) return Result<Answered>(std::move(got));
              return hal::duplicateFd(response.getDoorbell())
                  .then([got = std::move(got)](ForeignFd drivers) mutable {
                    got.opened.driversDoorbell.reset(drivers.release());
                    return Result<Answered>(std::move(got));
                  });
            });
          }));
  burst->key_ = answered.key;
  if (answered.opened.status != Code::NONE) return std::move(answered.opened);
  if (!answered.key) return opFailed("configureExecutionBurst succeeds without a context");
  if (doorbell >= 0 && !answered.opened.takesDoorbell) {
    return opFailed("configureExecutionBurst succeeds, and does not take its client's doorbell");
  }
  burst->connection_->watch(burst->ring_);
  answered.opened.burst = std::move(burst);
  return std::move(answered.opened);
}

BurstClient::~BurstClient() {
  if (key_) connection_->later([key = *key_](Side& side) { side.bursts.erase(key); });
}

std::vector<hal::Datum> BurstClient::packetFor(const hal::Request& request,
                                               const std::vector<int32_t>& slots, bool measure) {
  hal::ExecuteOptions options;
  options.measureTiming = measure;
  std::vector<hal::Datum> packet;
  hal::encodeRequestPacket(request, slots, options, false, &packet);
  return packet;
}

Result<BurstAnswer> BurstClient::exchange(std::span<const hal::Datum> packet) {
  if (!ring_->send(packet)) return opFailed("the packet of {} datums has no room", packet.size());
  if (driversDoorbell_ >= 0) {
    const uint64_t one = 1;
    (void)!::write(driversDoorbell_, &one, sizeof one);
  }
  const hal::RingClient::Wait how = ring_->wait(hal::Clock::now() + kAnswerPatience);
  if (how == hal::RingClient::Wait::TIMED_OUT) return opFailed("a packet is not answered");
  if (how != hal::RingClient::Wait::ANSWERED) {
    if (connection_->dead()) return connection_->diedDuring("a burst");
    return opFailed("the driver has ended the burst");
  }
  const auto datums = ring_->takeAnswer();
  BurstAnswer answer;
  answer.datums.assign(datums.begin(), datums.end());
  if (answer.datums.empty()) return opFailed("an answer without datums");
  answer.operands = answer.datums[0].words[4];
  answer.status = static_cast<Code>(answer.datums[0].words[3]);
  hal::ExecutionResult result;
  HALYARD_RETURN_IF_ERROR(hal::decodeResultPacket(answer.datums, answer.operands, &result),
                          "the answer's packet");
  answer.shapes = std::move(result.outputShapes);
  answer.timing = result.timing;
  return answer;
}

void BurstClient::setSlot(int32_t slot, SharedMemoryPtr memory) {
  const std::lock_guard lock(slots_->mutex);
  slots_->memories[slot] = std::move(memory);
}

void BurstClient::answerTooFew() {
  const std::lock_guard lock(slots_->mutex);
  slots_->tooFew = true;
}

size_t BurstClient::questions() const {
  const std::lock_guard lock(slots_->mutex);
  return slots_->questions;
}

Status BurstClient::freeMemory(int32_t slot) {
  return connection_
      ->call<bool>("freeMemory",
                   [&](Side& side) {
                     auto call = side.bursts.at(*key_).freeMemoryRequest();
                     call.setSlot(slot);
                     return call.send().then([](auto&&) -> Result<bool> { return true; });
                   })
      .takeStatus();
}

}  // namespace halyard::validation
