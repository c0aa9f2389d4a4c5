#include "hal/client/remote_ring.h"

#include <sys/socket.h>

#include <algorithm>

#include "base/spin_wait.h"
#include "hal/ring/doorbell.h"
#include "hal/ring/memory_channel.h"
#include "hal/wire/wire_memory.h"

namespace halyard::hal {
namespace {

using Side = DriverConnection::Side;

// A wait that is longer than this also checks whether the driver is alive.
constexpr std::chrono::seconds kPatience{1};
// The time after a deadline for the driver's own answer to arrive.
constexpr std::chrono::milliseconds kRingGrace{4};

class BurstCallbackServer final : public wire::v1_2::IBurstCallback::Server {
 public:
  explicit BurstCallbackServer(std::shared_ptr<MemorySlots> slots) : slots_(std::move(slots)) {}

  kj::Promise<void> getMemories(GetMemoriesContext context) override {
    auto results = context.getResults();
    const auto wanted = context.getParams().getSlots();
    const auto find = [&]() -> Result<std::vector<SharedMemoryPtr>> {
      if (wanted.size() > kMaxPools) {
        return badData("{} slots at once; at most {} are answered", wanted.size(), kMaxPools);
      }
      HALYARD_ASSIGN_OR_RETURN(auto memories, slots_->memoriesOf(decodeNumbers<int32_t>(wanted)));
      HALYARD_RETURN_IF_ERROR(checkPoolCount(memories));
      return memories;
    };
    const Result<std::vector<SharedMemoryPtr>> memories = find();
    setStatus(results, memories.status(), HalVersion::V1_3);
    if (!memories.ok()) return kj::READY_NOW;
    auto list = results.initMemories(static_cast<unsigned>(memories->size()));
    MemoryEncoder encoder;
    for (unsigned i = 0; i < list.size(); ++i) encoder.encode((*memories)[i], i, list[i]);
    return kj::READY_NOW;
  }

 private:
  const std::shared_ptr<MemorySlots> slots_;
};

void encodeQueue(MemoryEncoder& encoder, uint32_t index, const SharedMemoryPtr& memory,
                 uint32_t capacity, wire::QueueDescriptor::Builder to) {
  encoder.encode(memory, index, to.initMemory());
  to.setElementCount(capacity);
  to.setElementSize(sizeof(Datum));
  to.setHasEventWord(true);
}

struct Opened {
  uint64_t burst = 0;  // its key in Side::bursts
  bool extended = false;
  bool takesTokens = false;
  uint32_t recordings = 0;                   // the number of recordings that the driver keeps
  std::shared_ptr<ForeignFd> memoryChannel;  // invalid: the driver accepts no memories
};

// The answer to configureExecutionBurst.
template <typename Response>
kj::Promise<Result<Opened>> takeBurst(Side& side, Response& response) {
  Status status = fromWireStatus(response.getStatus(), response.getMessage());
  if (!status.ok()) return Result<Opened>(std::move(status));
  if (!response.hasBurstContext()) {
    return Result<Opened>(opFailed("it opens a burst without a context"));
  }
  // A driver of an earlier schema makes its own doorbell. The client must not write to a driver's
  // descriptor.
  if (!response.getTakesDoorbell()) {
    return Result<Opened>(opFailed("it does not watch its client's doorbell"));
  }
  const bool extended = response.getExtended();
  Opened opened{side.nextBurst++, extended, extended && response.getTakesTokens(),
                extended ? response.getRecordings() : 0, std::make_shared<ForeignFd>()};
  side.bursts.emplace(opened.burst, response.getBurstContext());
  if (!response.hasMemoryChannel()) return Result<Opened>(std::move(opened));
  return duplicateFd(response.getMemoryChannel()).then([opened](ForeignFd channel) {
    // A send through another kind of descriptor could block. Nothing is received through the
    // channel.
    if (checkLocalSocket(channel.get(), SOCK_SEQPACKET).ok() &&
        ::shutdown(channel.get(), SHUT_RD) == 0) {
      *opened.memoryChannel = std::move(channel);
    }
    return Result<Opened>(opened);
  });
}

// A running call whose caller may give up before its end.
class Opening {
 public:
  // Loop thread.
  void finish(Side& side, Result<Opened> opened) {
    const std::lock_guard lock(mutex_);
    if (givenUp_ && opened.ok()) side.bursts.erase(opened->burst);
    result_.emplace(std::move(opened));
    isThere_ = true;
    done_.notify_all();
  }
  // Returns false when there is no answer by `until`. Polls for the answer for a while before it
  // sleeps, as Completion does.
  bool comesBy(TimePoint until) {
    SpinWait::forAnswer([this] { return isThere_.load(); });
    std::unique_lock lock(mutex_);
    return done_.wait_until(lock, until, [this] { return result_.has_value(); });
  }
  // Returns the answer. MISSED_DEADLINE_TRANSIENT without an answer; a later answer is then
  // dropped.
  Result<Opened> take() {
    const std::lock_guard lock(mutex_);
    if (result_) return std::move(*result_);
    givenUp_ = true;
    return makeStatus(ResultCode::MISSED_DEADLINE_TRANSIENT,
                      "configureExecutionBurst: no answer before the deadline");
  }

 private:
  std::atomic<bool> isThere_ = false;
  std::mutex mutex_;
  std::condition_variable done_;
  std::optional<Result<Opened>> result_;
  bool givenUp_ = false;
};

}  // namespace

// The path to the driver's end of the burst while the RemoteRing exists. A memory reports its end
// through it, from any thread.
struct RemoteRing::Link {
  std::mutex mutex;
  DriverConnection* connection = nullptr;  // null before connect and after the RemoteRing
  uint64_t burst = 0;                      // its key in Side::bursts

  void post(std::function<void(Side&, uint64_t burst)> work) {
    const std::lock_guard lock(mutex);
    if (connection == nullptr) return;
    connection->later([work = std::move(work), burst = burst](Side& side) { work(side, burst); });
  }
};

Result<std::unique_ptr<RemoteRing>> RemoteRing::open(std::shared_ptr<DriverConnection> connection,
                                                     uint64_t preparedModel, HalVersion version,
                                                     std::optional<TimePoint> until,
                                                     uint32_t requestCapacity,
                                                     uint32_t resultCapacity) {
  HALYARD_ASSIGN_OR_RETURN(const RingClient::Channels channels,
                           RingClient::createChannels(requestCapacity, resultCapacity));
  std::unique_ptr<RemoteRing> ring(new RemoteRing(std::move(connection), version));
  HALYARD_ASSIGN_OR_RETURN(
      ring->client_,
      RingClient::create(channels, requestCapacity, resultCapacity, ring->connection_->spinGate()));
  HALYARD_RETURN_IF_ERROR(
      ring->connect(preparedModel, channels, requestCapacity, resultCapacity, until));
  return ring;
}

Status RemoteRing::connect(uint64_t preparedModel, const RingClient::Channels& channels,
                           uint32_t requestCapacity, uint32_t resultCapacity,
                           std::optional<TimePoint> until) {
  link_ = std::make_shared<Link>();
  const auto weak = std::make_shared<std::weak_ptr<MemorySlots>>();
  slots_ = MemorySlots::create([link = link_, weak](int32_t slot) {
    link->post([weak, slot](Side& side, uint64_t burst) {
      const auto it = side.bursts.find(burst);
      if (it == side.bursts.end()) return;
      auto call = it->second.freeMemoryRequest();
      call.setSlot(slot);
      side.watchers.add(call.send().then([weak, slot](auto&&) {
        if (const auto slots = weak->lock()) slots->recycle(slot);
      }));
    });
  });
  *weak = slots_;
  createRecordings();

  auto opening = std::make_shared<Opening>();
  connection_->later([opening, preparedModel, channels, requestCapacity, resultCapacity,
                      slots = slots_, client = client_](Side& side) {
    auto promise = kj::evalNow([&]() -> kj::Promise<Result<Opened>> {
      const auto it = side.preparedModels.find(preparedModel);
      if (it == side.preparedModels.end()) {
        return Result<Opened>(badState("the prepared model is not known any more"));
      }
      auto call = it->second.castAs<wire::v1_2::IPreparedModel>().configureExecutionBurstRequest();
      call.setCallback(kj::heap<BurstCallbackServer>(slots));
      MemoryEncoder encoder;
      encodeQueue(encoder, 0, channels.requests, requestCapacity, call.initRequestChannel());
      encodeQueue(encoder, 1, channels.results, resultCapacity, call.initResultChannel());
      call.setExtended(true);
      call.setTakesCopied(true);
      KJ_IF_MAYBE (doorbell, encodeFile(client->doorbell())) {
        call.setDoorbell(kj::mv(*doorbell));
      } else {
        return Result<Opened>(makeStatus(ResultCode::RESOURCE_EXHAUSTED_TRANSIENT,
                                         "no descriptor is left for a doorbell"));
      }
      return call.send().then([&side](auto&& response) { return takeBurst(side, response); });
    });
    side.watchers.add(promise.then(
        [opening, &side](Result<Opened> opened) { opening->finish(side, std::move(opened)); },
        [opening, &side](kj::Exception&& exception) {
          opening->finish(side, statusOf(exception));
        }));
  });
  Result<Opened> answer = [&] {
    const TimePoint now = Clock::now();
    const TimePoint limit = until ? *until : now + connection_->promptLimit();
    if (!opening->comesBy(std::min(limit, now + kPatience))) {
      // From now on the connection checks whether the driver is alive.
      const DriverConnection::Wait waiting(*connection_);
      (void)opening->comesBy(limit);
    }
    Result<Opened> opened = opening->take();
    if (until || opened.status().code() != ResultCode::MISSED_DEADLINE_TRANSIENT) return opened;
    return Result<Opened>(opFailed("configureExecutionBurst: no answer in time"));
  }();
  HALYARD_ASSIGN_OR_RETURN(const Opened opened, std::move(answer));
  if (opened.memoryChannel->valid()) {
    slots_->offerBy([channel = opened.memoryChannel](int32_t slot, const SharedMemory& memory) {
      // The driver asks for a memory that cannot be passed.
      (void)offerMemory(channel->get(), slot, memory);
    });
  }
  extended_ = opened.extended;
  takesTokens_ = opened.takesTokens;
  recordings_->allow(opened.recordings);
  {
    const std::lock_guard lock(link_->mutex);
    link_->connection = connection_.get();
    link_->burst = opened.burst;
  }
  connection_->watch(client_);
  return okStatus();
}

void RemoteRing::createRecordings() {
  const auto weak = std::make_shared<std::weak_ptr<RecordingNumbers>>();
  recordings_ = std::make_shared<RecordingNumbers>([link = link_, weak](uint32_t number) {
    link->post([weak, number](Side& side, uint64_t burst) {
      const auto it = side.bursts.find(burst);
      if (it == side.bursts.end()) return;
      auto call = it->second.freeRecordingRequest();
      call.setNumber(number);
      side.watchers.add(call.send().then([weak, number](auto&&) {
        if (const auto recordings = weak->lock()) recordings->recycle(number);
      }));
    });
  });
  *weak = recordings_;
}

RemoteRing::~RemoteRing() {
  if (link_ == nullptr) return;
  link_->post([](Side& side, uint64_t burst) { side.bursts.erase(burst); });
  const std::lock_guard lock(link_->mutex);
  link_->connection = nullptr;
}

bool RemoteRing::takes(const Request& request, const ExecuteOptions& options) const {
  if (request.pools.size() > wire::MAX_FDS_PER_MESSAGE) return false;
  if (client_->hasEnded()) return false;
  if (!options.attributes.empty()) return false;  // packets have no field for them
  const bool timed = options.deadline || options.loopTimeout;
  if (timed && version_ >= HalVersion::V1_3 && !extended_) return false;
  // A ring cannot keep images mapped.
  return std::all_of(request.pools.begin(), request.pools.end(), [this](const RequestPool& pool) {
    const auto* memory = std::get_if<SharedMemoryPtr>(&pool);
    return memory == nullptr ? takesTokens_ : (*memory)->kind() != MemoryKind::HARDWARE_BUFFER;
  });
}

RemoteRing::Outcome RemoteRing::execute(const Request& request, const ExecuteOptions& options,
                                        size_t outputs, const char* what) {
  encode(request, options);
  return exchange(options, outputs, what);
}

RemoteRing::Outcome RemoteRing::executeRecorded(uint64_t key, const Request& request,
                                                const ExecuteOptions& options, size_t outputs,
                                                const char* what) {
  const std::optional<RecordingNumbers::Use> use = recordings_->use(key);
  if (!use) return execute(request, options, outputs, what);
  if (use->isRecorded) {
    encodeRunPacket(use->number, options, timed(), &packet_);
    return exchange(options, outputs, what);
  }
  encode(request, options);
  appendRecording(use->number, &packet_);
  Outcome outcome = exchange(options, outputs, what);
  // After an error the driver may or may not have the recording, so the request is recorded again.
  if (outcome.state == Outcome::State::ANSWERED && outcome.result.status.ok()) {
    recordings_->confirm(key);
  }
  return outcome;
}

void RemoteRing::encode(const Request& request, const ExecuteOptions& options) {
  requestSlots_.clear();
  for (const RequestPool& pool : request.pools) {
    const auto* const memory = std::get_if<SharedMemoryPtr>(&pool);
    requestSlots_.push_back(memory == nullptr ? kNoSlot : slots_->slotOf(*memory));
  }
  encodeRequestPacket(request, requestSlots_, options, timed(), &packet_);
}

RemoteRing::Outcome RemoteRing::exchange(const ExecuteOptions& options, size_t outputs,
                                         const char* what) {
  Outcome outcome;
  if (!client_->send(packet_)) {
    outcome.state = Outcome::State::NOT_SENT;
    return outcome;
  }
  std::optional<TimePoint> until;
  // HAL versions before 1.3 have no deadlines.
  if (timed() && options.deadline && *options.deadline < TimePoint::max() - kRingGrace) {
    until = *options.deadline + kRingGrace;
  }
  // Without a deadline, the driver counts as hung after this time.
  const std::chrono::nanoseconds limit = connection_->executionLimit();
  const std::chrono::nanoseconds patience =
      until ? kPatience : std::min<std::chrono::nanoseconds>(limit, kPatience);
  RingClient::Wait how = client_->wait(until, patience);
  if (how == RingClient::Wait::TIMED_OUT && (!until || Clock::now() < *until)) {
    // From now on the connection checks whether the driver is alive.
    const DriverConnection::Wait waiting(*connection_);
    how = until ? client_->wait(until) : client_->wait(std::nullopt, limit - patience);
    if (how == RingClient::Wait::TIMED_OUT && !until) {
      connection_->declareHung(what);
      how = RingClient::Wait::ENDED;
    }
  }
  if (how != RingClient::Wait::ANSWERED) return ended(how, options, what);
  const Status wellFormed = decodeResultPacket(client_->takeAnswer(), outputs, &outcome.result);
  if (!wellFormed.ok()) outcome.result = {wellFormed, {}, {}};
  return outcome;
}

RemoteRing::Outcome RemoteRing::ended(RingClient::Wait how, const ExecuteOptions& options,
                                      const char* what) {
  Outcome outcome;
  outcome.state = Outcome::State::LOST;
  Status& status = outcome.result.status;
  switch (how) {
    case RingClient::Wait::TIMED_OUT:
      status = makeStatus(
          ResultCode::MISSED_DEADLINE_TRANSIENT, "{}: no answer {} us after the deadline", what,
          std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - *options.deadline)
              .count());
      break;
    case RingClient::Wait::ENDED:
      status = connection_->diedDuring(what);
      break;
    case RingClient::Wait::SPOILT:
      status = opFailed("{}: it has spoilt the ring", what);
      break;
    default: {
      // The driver has closed the burst, mostly because it is ending. A call returns the exact
      // error.
      const auto alive =
          connection_->call<bool>(what,
                                  [](Side& side) {
                                    return KJ_ASSERT_NONNULL(side.device)
                                        .getStatusRequest()
                                        .send()
                                        .then([](auto&&) -> Result<bool> { return true; });
                                  },
                                  CallLimit::prompt(), {.phase = trace::Phase::EXECUTION});
      status = alive.ok() ? opFailed("{}: it has closed the burst", what) : alive.status();
      outcome.namesDriver = !alive.ok();
    }
  }
  return outcome;
}

}  // namespace halyard::hal
