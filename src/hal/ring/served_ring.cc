#include "hal/ring/served_ring.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace halyard::hal {
namespace {

constexpr unsigned kPacketsInTurn = 64;  // while other work waits

ExecutionResult failed(Status status) {
  ExecutionResult result;
  result.status = std::move(status);
  return result;
}

bool maySlotExist(int32_t slot) { return slot >= 0 && slot != kNoSlot; }

}  // namespace

Result<std::shared_ptr<ServedRing>> ServedRing::create(Parts parts) {
  UniqueFd wakeUp(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wakeUp.valid()) {
    return errnoStatus(ResultCode::RESOURCE_EXHAUSTED_TRANSIENT, errno, "eventfd for a burst");
  }
  std::shared_ptr<ServedRing> ring(new ServedRing(std::move(parts)));
  ring->wakeUp_ = std::move(wakeUp);
  // Without a channel the client is asked for its memories.
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
  // Until it is served for the first time.
  reader_.announceSleep();
}

void ServedRing::wake() const {
  const uint64_t one = 1;
  // The descriptor never leaves this process, so no other process can fill the counter.
  (void)!::write(wakeUp_.get(), &one, sizeof one);
}

ServedRing::Outcome ServedRing::serve(const FairExecutor::Turn& turn) {
  reader_.announceAwake();
  for (unsigned packets = 0; !turn.stopping();) {
    switch (step()) {
      case Step::WAITING:
        return Outcome::IDLE;
      case Step::ENDED:
        return Outcome::ENDED;
      case Step::SERVED:
        if (++packets % kPacketsInTurn != 0 || !turn.othersWait()) continue;
        break;
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
  if (!gap_.soon() || turn.othersWait()) return false;
  return parts_.spinGate->spin(
      Clock::now(), [&] { return changed() || turn.stopping(); }, [&] { return clientCore(); });
}

void ServedRing::freeMemory(int32_t slot) {
  std::optional<Slot> dropped;  // unmapped without the lock
  {
    const std::lock_guard lock(mutex_);
    // The slot's memory may still be on its way.
    if (offered_) {
      offered_->receive();
      offered_->drop(slot);
    }
    const auto known = slots_.find(slot);
    if (known != slots_.end()) {
      dropped = std::move(known->second);
      slots_.erase(known);
    } else if (std::binary_search(asked_.begin(), asked_.end(), slot)) {
      freedMeanwhile_.push_back(slot);
    } else {
      return;
    }
    ++slotsFreed_;
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
  // A packet that waits for its memories comes before the next one.
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
  if (answered_) gap_.note(Clock::now() - *answered_);
  return takePacket(*datums);
}

// Releases a request that uses memory which the client has freed.
void ServedRing::dropStale() {
  const std::lock_guard lock(mutex_);
  hasNews_ = false;
  if (slotsFreed_ == lastSlotsFreed_) return;
  last_.reset();
  lastSlotsFreed_ = slotsFreed_;
}

// Everything that is there is one packet, for the client writes packets as a whole and waits for an
// answer. It is copied once, and looked at only here.
ServedRing::Step ServedRing::takePacket(uint32_t datums) {
  packet_.resize(datums);
  reader_.read(packet_);
  if (isRepetition(packet_)) {
    decodeOptions(std::span(packet_).subspan(lastOptions_.plainDatums), &lastOptions_);
    Status repeated = last_->request.repeat();
    answer(repeated.ok() ? execute(lastOptions_) : failed(std::move(repeated)));
    return Step::SERVED;
  }
  last_.reset();
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
  answer(run(std::move(*decoded)));
  return Step::SERVED;
}

ServedRing::Step ServedRing::resume() {
  const Status added = addArrived();
  RequestPacket packet = std::move(*waiting_);
  waiting_.reset();
  ExecutionResult result = run(std::move(packet));
  if (!added.ok() && !result.status.ok()) {
    if (added.code() == ResultCode::RESOURCE_EXHAUSTED_TRANSIENT) {
      result.status = result.status.withCode(added.code());
    }
    result.status.annotate(fmt::format("the client's memories: {}", added.message()));
  }
  answer(result);
  return Step::SERVED;
}

bool ServedRing::isRepetition(std::span<const Datum> packet) const {
  if (!last_ || packet.size() != lastPacket_.size()) return false;
  const size_t plain = lastOptions_.plainDatums;
  if (std::memcmp(packet.data(), lastPacket_.data(), plain * sizeof(Datum)) != 0) return false;
  for (size_t i = plain; i < packet.size(); ++i) {
    if (packet[i].tag() != lastPacket_[i].tag()) return false;
  }
  return true;
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

// Puts the memories that the client has handed over into their slots, if it has handed over all of
// them. Otherwise the client is asked, and its answer shows the fault.
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

Result<std::vector<ServedRing::Slot>> ServedRing::openArrived(
    std::optional<Result<std::vector<PoolDescription>>> arrived, size_t asked) const {
  if (!arrived) return opFailed("none have come");
  HALYARD_RETURN_IF_ERROR(arrived->status());
  if ((*arrived)->size() != asked) {
    return badData("{} have come, for {} slots", (*arrived)->size(), asked);
  }
  HALYARD_ASSIGN_OR_RETURN(std::vector<ReceivedPool> pools, openPools(std::move(**arrived)));
  std::vector<Slot> slots;
  for (ReceivedPool& pool : pools) {
    HALYARD_RETURN_IF_ERROR(pool.keepMapped());
    Quota::Charge charge;
    if (parts_.quota != nullptr) {
      HALYARD_ASSIGN_OR_RETURN(charge, parts_.quota->charge(Quota::Resource::DESCRIPTORS, 1));
    }
    slots.push_back({std::move(pool), std::move(charge)});
  }
  return slots;
}

// Puts the memories that have arrived into their slots: all, or none.
Status ServedRing::addArrived() {
  std::optional<Result<std::vector<PoolDescription>>> arrived;
  std::vector<int32_t> asked;
  {
    const std::lock_guard lock(mutex_);
    arrived.swap(arrived_);
    asked = asked_;
  }
  Result<std::vector<Slot>> slots = openArrived(std::move(arrived), asked.size());
  std::map<int32_t, Slot> dropped;  // unmapped without the lock
  const std::lock_guard lock(mutex_);
  asked_.clear();
  if (!slots.ok()) return slots.takeStatus();
  // The client still knows where they are.
  if (slots_.size() + asked.size() > kMaxSlots) slots_.swap(dropped);
  for (size_t i = 0; i < asked.size(); ++i) {
    const auto& freed = freedMeanwhile_;
    if (std::find(freed.begin(), freed.end(), asked[i]) != freed.end()) continue;
    slots_.insert_or_assign(asked[i], std::move((*slots)[i]));
  }
  return okStatus();
}

Result<std::vector<ReceivedPool>> ServedRing::poolsOf(const std::vector<int32_t>& slots) {
  std::vector<ReceivedPool> pools;
  pools.reserve(slots.size());
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < slots.size(); ++i) {
    const auto known = slots_.find(slots[i]);
    if (known == slots_.end()) {
      return badData("memory pool {}: there is nothing in slot {}", i, slots[i]);
    }
    pools.push_back(known->second.pool);
  }
  lastSlotsFreed_ = slotsFreed_;
  return pools;
}

ExecutionResult ServedRing::run(RequestPacket packet) {
  Result<std::vector<ReceivedPool>> pools = poolsOf(packet.slots);
  if (!pools.ok()) return failed(pools.takeStatus());
  Quota::Charge memory;  // grows with the copies
  if (parts_.quota != nullptr) {
    auto charge = parts_.quota->charge(Quota::Resource::MEMORY, 0);
    if (charge.ok()) memory = std::move(*charge);
  }
  Result<ImportedRequest> imported =
      ImportedRequest::createFromPools(*parts_.model, std::move(packet.request), std::move(*pools),
                                       parts_.version, std::move(memory));
  if (!imported.ok()) return failed(imported.takeStatus());
  last_.emplace(Last{std::move(*imported)});
  auto execution = parts_.preparedModel->createReusableExecution(last_->request.request());
  if (!execution.ok()) {
    last_.reset();
    return failed(execution.takeStatus());
  }
  last_->execution = std::move(*execution);
  lastPacket_.swap(packet_);
  lastOptions_ = std::move(packet);
  return execute(lastOptions_);
}

ExecutionResult ServedRing::execute(const RequestPacket& packet) {
  ExecuteOptions options;
  options.measureTiming = packet.measureTiming;
  options.deadline = packet.deadline;
  options.loopTimeout = packet.loopTimeout;
  ExecutionResult result = last_->execution->compute(options);
  Status written = last_->request.writeBack(*parts_.model, result);
  if (!written.ok()) return failed(std::move(written));
  return result;
}

void ServedRing::answer(const ExecutionResult& result) {
  const std::optional<uint32_t> space = writer_.space(resultDatums(result, parts_.extended));
  if (!space) return close();
  encodeResultPacket(result, parts_.version, parts_.extended, *space, &reply_);
  if (reply_.size() > *space) return;  // the client does not take its answers
  writer_.noteCore(currentCore());
  writer_.write(reply_);
  if (writer_.takeSleeper()) wakeEventWord(parts_.results.header().event);
  answered_ = Clock::now();
}

}  // namespace halyard::hal
