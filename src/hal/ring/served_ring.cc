#include "hal/ring/served_ring.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/processors.h"
#include "hal/core/failed_execution.h"

namespace halyard::hal {
namespace {

// A turn ends after either of these while other work waits.
constexpr unsigned kPacketsInTurn = 64;
constexpr std::chrono::milliseconds kTurn{1};
// A wake-up is a tenth or more of an execution that takes less.
constexpr std::chrono::microseconds kQuick{100};

bool maySlotExist(int32_t slot) { return slot >= 0 && slot != kNoSlot; }

}  // namespace

Result<std::shared_ptr<ServedRing>> ServedRing::create(Parts parts) {
  UniqueFd wakeUp(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wakeUp.valid()) {
    return errnoStatus(ResultCode::RESOURCE_EXHAUSTED_TRANSIENT, errno, "eventfd for a burst");
  }
  std::shared_ptr<ServedRing> ring(new ServedRing(std::move(parts)));
  ring->wakeUp_ = std::move(wakeUp);
  // Without a channel, the ring asks the client for its memories.
  auto channel = OfferedMemories::create(ring->parts_.quota, ring->parts_.closing);
  if (channel.ok()) {
    ring->offered_ = std::move(channel->memories);
    ring->clientEnd_ = std::move(channel->clientEnd);
  }
  return ring;
}

ServedRing::ServedRing(Parts parts)
    : parts_(std::move(parts)), reader_(parts_.requests), writer_(parts_.results) {
  packet_.reserve(parts_.requests.capacity());
  // The ring sleeps until the first call of serve.
  reader_.announceSleep();
}

void ServedRing::wake() const {
  const uint64_t one = 1;
  // The descriptor never leaves this process, so no other process can fill the counter.
  (void)!::write(wakeUp_.get(), &one, sizeof one);
}

ServedRing::Outcome ServedRing::serve(const FairExecutor::Turn& turn) {
  reader_.announceAwake();
  TimePoint due = Clock::now() + kTurn;
  for (unsigned packets = 0; !turn.stopping();) {
    switch (step()) {
      case Step::WAITING:
        return Outcome::IDLE;
      case Step::ENDED:
        return Outcome::ENDED;
      case Step::SERVED:
        if (++packets % kPacketsInTurn != 0 && *answered_ < due) continue;
        if (turn.othersWait()) break;
        due = *answered_ + kTurn;
        continue;
      case Step::IDLE:
        if (spin(turn)) continue;
        break;
    }
    reader_.announceSleep();
    if (!changed()) return Outcome::IDLE;
    if (turn.othersWait()) return Outcome::MORE;
    reader_.announceAwake();
  }
  return Outcome::IDLE;
}

bool ServedRing::spin(const FairExecutor::Turn& turn) {
  if (!gap_.isShort() || turn.othersWait()) return false;
  return parts_.spinGate->spin(
      Clock::now(), [&] { return changed() || turn.othersWait() || turn.stopping(); },
      [&] { return clientCore(); }, wokeClient_);
}

void ServedRing::freeMemory(int32_t slot) {
  SlotPtr dropped;  // unmapped after the lock
  {
    const std::lock_guard lock(mutex_);
    // The slot's memory may still be in the channel.
    if (offered_) {
      offered_->receive();
      offered_->drop(slot);
    }
    const auto known = slots_.find(slot);
    if (known != slots_.end()) {
      dropped = std::move(known->second);
      slots_.erase(known);
    } else if (std::ranges::binary_search(asked_, slot) &&
               std::ranges::find(freedMeanwhile_, slot) == freedMeanwhile_.end()) {
      freedMeanwhile_.push_back(slot);
    }
    for (size_t i = 0; i < recordedSlots_.size(); ++i) {
      if (std::ranges::binary_search(recordedSlots_[i], slot)) stale_.set(i);
    }
    if (stale_.none()) return;
    hasNews_ = true;
  }
  wake();
}

void ServedRing::freeRecording(uint32_t number) {
  if (number >= kMaxRecordings) return;
  {
    const std::lock_guard lock(mutex_);
    stale_.set(number);
    hasNews_ = true;
  }
  wake();
}

void ServedRing::memoriesArrived(Result<std::vector<PoolDescription>> memories) {
  {
    const std::lock_guard lock(mutex_);
    arrived_ = std::move(memories);
    hasNews_ = true;
  }
  wake();
}

bool ServedRing::memoriesHaveArrived() {
  const std::lock_guard lock(mutex_);
  return arrived_.has_value();
}

void ServedRing::close() {
  closed_ = true;
  writer_.close();
  if (writer_.takeSleeper()) wakeEventWord(parts_.results.header().event);
}

ServedRing::Step ServedRing::step() {
  if (closed()) return Step::ENDED;
  if (hasNews_.load()) dropStale();
  // A packet that waits for its memories precedes the next packet.
  if (waiting_) return memoriesHaveArrived() ? resume() : Step::WAITING;
  const std::optional<uint32_t> datums = reader_.available();
  if (!datums) {
    close();
    return Step::ENDED;
  }
  if (*datums == 0) {
    if (!reader_.closed()) return Step::IDLE;
    close();
    return Step::ENDED;
  }
  started_ = Clock::now();
  if (answered_) gap_.note(reader_.writerWork(), started_ - *answered_);
  return takePacket(*datums);
}

// Drops the recordings that the client has freed, or whose memory it has freed.
void ServedRing::dropStale() {
  std::bitset<kMaxRecordings> stale;
  {
    const std::lock_guard lock(mutex_);
    hasNews_ = false;
    std::swap(stale, stale_);
    for (size_t i = 0; i < stale.size(); ++i) {
      if (stale[i]) recordedSlots_[i].clear();
    }
  }
  // The lock is released first, because the driver's part may take long.
  for (size_t i = 0; i < stale.size(); ++i) {
    if (stale[i]) recordings_[i].reset();
  }
}

// All waiting datums are one packet, because the client writes packets as a whole and waits for
// each answer. The packet is copied once, and only the copy is read.
ServedRing::Step ServedRing::takePacket(uint32_t datums) {
  packet_.resize(datums);
  reader_.read(packet_);
  // The client may have freed a recording before it sent the packet.
  if (hasNews_.load()) dropStale();
  if (isRunPacket(packet_)) {
    answer(runRecording(packet_));
    return Step::SERVED;
  }
  Result<RequestPacket> decoded = decodeRequestPacket(packet_);
  if (!decoded.ok()) {
    answer(failed(decoded.takeStatus()));
    return Step::SERVED;
  }
  std::vector<int32_t> unknown = unknownSlots(decoded->slots);
  if (!unknown.empty() && !takeOffered(unknown)) {
    waiting_ = std::move(*decoded);
    {
      const std::lock_guard lock(mutex_);
      asked_ = unknown;
      freedMeanwhile_.clear();
    }
    parts_.fetchMemories(std::move(unknown));
    return Step::WAITING;
  }
  answer(execute(std::move(*decoded)));
  return Step::SERVED;
}

ServedRing::Step ServedRing::resume() {
  const Status added = addArrived();
  RequestPacket packet = std::move(*waiting_);
  waiting_.reset();
  ExecutionResult result = execute(std::move(packet));
  if (!added.ok() && !result.status.ok()) {
    if (added.code() == ResultCode::RESOURCE_EXHAUSTED_TRANSIENT) {
      result.status = result.status.withCode(added.code());
    }
    result.status.annotate(fmt::format("the client's memories: {}", added.message()));
  }
  answer(result);
  return Step::SERVED;
}

std::vector<int32_t> ServedRing::unknownSlots(const std::vector<int32_t>& slots) {
  std::vector<int32_t> unknown;
  {
    const std::lock_guard lock(mutex_);
    for (const int32_t slot : slots) {
      if (maySlotExist(slot) && !slots_.contains(slot)) unknown.push_back(slot);
    }
  }
  std::sort(unknown.begin(), unknown.end());
  unknown.erase(std::unique(unknown.begin(), unknown.end()), unknown.end());
  return unknown;
}

// Puts the offered memories into their slots if all of `slots` are offered. Otherwise returns
// false. The client is then asked, and its answer shows the error.
bool ServedRing::takeOffered(const std::vector<int32_t>& slots) {
  {
    const std::lock_guard lock(mutex_);
    if (!offered_) return false;
    offered_->receive();
    const bool all = std::all_of(slots.begin(), slots.end(),
                                 [this](int32_t slot) { return offered_->has(slot); });
    std::vector<PoolDescription> memories;
    for (const int32_t slot : slots) {
      std::optional<PoolDescription> memory = offered_->take(slot);
      if (all) memories.push_back(std::move(*memory));
    }
    if (!all) return false;
    asked_ = slots;
    freedMeanwhile_.clear();
    arrived_ = std::move(memories);
  }
  return addArrived().ok();
}

Result<std::vector<ServedRing::SlotPtr>> ServedRing::openArrived(
    std::optional<Result<std::vector<PoolDescription>>> arrived, size_t asked) const {
  if (!arrived) return opFailed("none have come");
  HALYARD_RETURN_IF_ERROR(arrived->status());
  if ((*arrived)->size() != asked) {
    return badData("{} have come, for {} slots", (*arrived)->size(), asked);
  }
  HALYARD_ASSIGN_OR_RETURN(std::vector<ReceivedPool> pools, openPools(std::move(**arrived)));
  std::vector<SlotPtr> slots;
  for (ReceivedPool& pool : pools) {
    HALYARD_RETURN_IF_ERROR(pool.keepMapped());
    Quota::Charge charge;
    if (parts_.quota != nullptr) {
      HALYARD_ASSIGN_OR_RETURN(charge, parts_.quota->charge(Quota::Resource::DESCRIPTORS, 1));
    }
    slots.push_back(std::make_shared<const Slot>(Slot{std::move(pool), std::move(charge)}));
  }
  return slots;
}

// Puts the received memories into their slots. On an error, puts none.
Status ServedRing::addArrived() {
  std::optional<Result<std::vector<PoolDescription>>> arrived;
  std::vector<int32_t> asked;
  {
    const std::lock_guard lock(mutex_);
    arrived.swap(arrived_);
    asked = asked_;
  }
  Result<std::vector<SlotPtr>> slots = openArrived(std::move(arrived), asked.size());
  std::map<int32_t, SlotPtr> dropped;  // unmapped after the lock
  const std::lock_guard lock(mutex_);
  asked_.clear();
  if (!slots.ok()) return slots.takeStatus();
  // All slots may be dropped, because the driver can ask the client for them again.
  if (slots_.size() + asked.size() > kMaxSlots) slots_.swap(dropped);
  for (size_t i = 0; i < asked.size(); ++i) {
    const auto& freed = freedMeanwhile_;
    if (std::find(freed.begin(), freed.end(), asked[i]) != freed.end()) continue;
    slots_.insert_or_assign(asked[i], std::move((*slots)[i]));
  }
  return okStatus();
}

Result<std::vector<ServedRing::SlotPtr>> ServedRing::memoriesOf(const RequestPacket& packet) {
  std::vector<SlotPtr> memories;
  memories.reserve(packet.slots.size());
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < packet.slots.size(); ++i) {
    if (std::holds_alternative<uint32_t>(packet.request.pools[i])) {
      if (parts_.version < HalVersion::V1_3) {
        return badData("memory pool {} is a buffer, which needs HAL 1.3", i);
      }
      memories.emplace_back();
      continue;
    }
    const auto known = slots_.find(packet.slots[i]);
    if (known == slots_.end()) {
      return badData("memory pool {}: there is nothing in slot {}", i, packet.slots[i]);
    }
    memories.push_back(known->second);
  }
  if (packet.recording) {
    // An earlier call that freed this number was for the previous recording.
    std::vector<int32_t>& recorded = recordedSlots_[*packet.recording];
    recorded = packet.slots;
    std::ranges::sort(recorded);
    recorded.erase(std::unique(recorded.begin(), recorded.end()), recorded.end());
    stale_.reset(*packet.recording);
  }
  return memories;
}

Result<ImportedRequest> ServedRing::import(RequestPacket& packet,
                                           const std::vector<SlotPtr>& memories) const {
  std::vector<std::optional<ReceivedPool>> pools;
  pools.reserve(memories.size());
  for (const SlotPtr& memory : memories) {
    pools.push_back(memory == nullptr ? std::nullopt : std::optional(memory->pool));
  }
  Quota::Charge memory;  // grows with the copies
  if (parts_.quota != nullptr) {
    auto charge = parts_.quota->charge(Quota::Resource::MEMORY, 0);
    if (charge.ok()) memory = std::move(*charge);
  }
  return ImportedRequest::createFromPools(*parts_.model, std::move(packet.request),
                                          std::move(pools), parts_.version, std::move(memory));
}

ExecutionResult ServedRing::execute(RequestPacket packet) {
  // The number is free from now on, even if the packet is refused.
  if (packet.recording) recordings_[*packet.recording].reset();
  Result<std::vector<SlotPtr>> memories = memoriesOf(packet);
  if (!memories.ok()) return failed(memories.takeStatus());
  Result<ImportedRequest> imported = import(packet, *memories);
  if (!imported.ok()) return failed(imported.takeStatus());
  if (packet.recording) {
    return record(std::move(*imported), std::move(*memories), *packet.recording, packet.options);
  }
  ExecutionResult result =
      parts_.preparedModel->executeSynchronously(imported->request(), packet.options);
  Status written = imported->writeBack(*parts_.model, result);
  if (!written.ok()) return failed(std::move(written));
  return result;
}

ExecutionResult ServedRing::record(ImportedRequest imported, std::vector<SlotPtr> memories,
                                   uint32_t number, const ExecuteOptions& options) {
  auto recording = std::make_unique<Recording>(
      Recording{.memories = std::move(memories), .request = std::move(imported)});
  auto execution = parts_.preparedModel->createReusableExecution(recording->request.request());
  if (!execution.ok()) return failed(execution.takeStatus());
  recording->execution = std::move(*execution);
  recordings_[number] = std::move(recording);
  return compute(*recordings_[number], options);
}

ExecutionResult ServedRing::runRecording(std::span<const Datum> packet) {
  const Result<RunPacket> run = decodeRunPacket(packet);
  if (!run.ok()) return failed(run.status());
  if (run->recording >= kMaxRecordings || recordings_[run->recording] == nullptr) {
    return failed(badData("there is no recording {}", run->recording));
  }
  Recording& recording = *recordings_[run->recording];
  Status read = recording.request.repeat();
  return read.ok() ? compute(recording, run->options) : failed(std::move(read));
}

ExecutionResult ServedRing::compute(Recording& recording, const ExecuteOptions& options) {
  ExecutionResult result = recording.execution->compute(options);
  Status written = recording.request.writeBack(*parts_.model, result);
  if (!written.ok()) return failed(std::move(written));
  return result;
}

void ServedRing::answer(const ExecutionResult& result) {
  answered_ = Clock::now();
  const std::optional<uint32_t> space = writer_.space(resultDatums(result, parts_.extended));
  if (!space) return close();
  encodeResultPacket(result, parts_.version, parts_.extended, parts_.takesCopied, *space, &reply_);
  if (reply_.size() > *space) return;  // the client does not read its answers
  const uint32_t core = currentCore();
  const bool isQuick = gap_.isShort() && *answered_ - started_ < kQuick;
  const uint32_t clients = clientCore();
  const Parting::Move move = parting_.next(*answered_, clients == core, isQuick);
  // A client that is woken from another core follows there. So it is woken first. It polls for the
  // next answer since this core is not named, and yields to this thread, which leaves.
  writer_.noteCore(move == Parting::Move::LEAVE ? kUnknownCore : core);
  writer_.noteWork(*answered_ - started_);
  writer_.write(reply_);
  wokeClient_ = writer_.takeSleeper();
  if (wokeClient_) wakeEventWord(parts_.results.header().event);
  if (move == Parting::Move::LEAVE) leaveProcessor();
  if (move == Parting::Move::JOIN) moveToProcessor(clients);
}

}  // namespace halyard::hal
