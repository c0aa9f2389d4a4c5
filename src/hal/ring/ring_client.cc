#include "hal/ring/ring_client.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

namespace halyard::hal {
namespace {

// A sleeping thread checks the queue after this time, because the driver may have prevented its
// wake-up.
constexpr std::chrono::milliseconds kLongestSleep{250};

}  // namespace

Result<RingClient::Channels> RingClient::createChannels(uint32_t requestCapacity,
                                                        uint32_t resultCapacity) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t requestBytes = DatumQueue::bytesFor(requestCapacity);
  const size_t resultBytes = DatumQueue::bytesFor(resultCapacity);
  const size_t resultsAt = (requestBytes + page - 1) / page * page;
  HALYARD_ASSIGN_OR_RETURN(const SharedMemoryPtr memory,
                           SharedMemory::create(resultsAt + resultBytes, "halyard queues"));
  HALYARD_ASSIGN_OR_RETURN(Mapping mapping, memory->map());
  Channels channels{SharedMemory::partOf(*memory, 0, requestBytes),
                    SharedMemory::partOf(*memory, resultsAt, resultBytes),
                    std::make_shared<const Mapping>(std::move(mapping))};
  uint8_t* const at = channels.mapping->data();
  (void)DatumQueue::begin(channels.mapping, at, requestCapacity);
  (void)DatumQueue::begin(channels.mapping, at + resultsAt, resultCapacity);
  return channels;
}

Result<std::shared_ptr<RingClient>> RingClient::create(const Channels& channels,
                                                       uint32_t requestCapacity,
                                                       uint32_t resultCapacity,
                                                       std::shared_ptr<SpinGate> gate) {
  uint8_t* const at = channels.mapping->data();
  const auto resultsAt = static_cast<size_t>(channels.results->offset());
  HALYARD_ASSIGN_OR_RETURN(Doorbell doorbell, Doorbell::create());
  return std::shared_ptr<RingClient>(
      new RingClient(DatumQueue::begin(channels.mapping, at, requestCapacity),
                     DatumQueue::begin(channels.mapping, at + resultsAt, resultCapacity),
                     std::move(doorbell), std::move(gate)));
}

bool RingClient::send(std::span<const Datum> packet) {
  const std::optional<uint32_t> space = writer_.space(packet.size());
  if (!space || *space < packet.size()) return false;
  writer_.noteCore(currentCore());
  if (answered_) writer_.noteWork(Clock::now() - *answered_);
  writer_.write(packet);
  wokeDriver_ = writer_.takeSleeper();
  if (wokeDriver_) doorbell_.ring();
  return true;
}

std::optional<RingClient::Wait> RingClient::look() const {
  const std::optional<uint32_t> datums = reader_.available();
  if (!datums) return Wait::SPOILT;
  if (*datums != 0) return Wait::ANSWERED;
  if (ended_.load(std::memory_order_seq_cst)) return Wait::ENDED;
  if (reader_.closed()) return Wait::CLOSED;
  return std::nullopt;
}

RingClient::Wait RingClient::wait(std::optional<TimePoint> until,
                                  std::optional<std::chrono::nanoseconds> atMost) {
  const TimePoint start = Clock::now();
  if (atMost && (!until || *until - start > *atMost)) until = start + *atMost;
  std::optional<Wait> seen = look();
  if (!seen && expectsShortWork()) {
    gate_->spin(
        start, [&] { return reader_.changed() || ended_.load(std::memory_order_relaxed); },
        [&] { return reader_.writerCore() - 1; }, wokeDriver_);
    seen = look();
  }
  while (!seen) {
    reader_.announceSleep();
    seen = look();
    if (seen) break;
    const TimePoint now = Clock::now();
    if (until && now >= *until) {
      seen = Wait::TIMED_OUT;
      break;
    }
    sleep(until ? std::min(now + kLongestSleep, *until) : now + kLongestSleep);
    seen = look();
  }
  reader_.announceAwake();
  answered_ = Clock::now();
  service_.note(seen == Wait::ANSWERED ? reader_.writerWork() : std::nullopt, *answered_ - start);
  return *seen;
}

void RingClient::sleep(TimePoint wake) {
  // The steady clock is CLOCK_MONOTONIC, which this futex operation uses.
  const auto count = wake.time_since_epoch() / std::chrono::nanoseconds(1);
  const timespec end{static_cast<time_t>(count / 1'000'000'000), count % 1'000'000'000};
  ::syscall(SYS_futex, reinterpret_cast<uint32_t*>(&reader_.eventWord()), FUTEX_WAIT_BITSET, 1,
            &end, nullptr, FUTEX_BITSET_MATCH_ANY);
}

std::span<const Datum> RingClient::takeAnswer() {
  answer_.resize(reader_.available().value_or(0));
  reader_.read(answer_);
  return answer_;
}

void RingClient::end() {
  ended_.store(true, std::memory_order_seq_cst);
  // The store also stops a thread that is about to sleep: see wait.
  std::atomic<uint32_t>& event = results_.header().event;
  event.store(0, std::memory_order_seq_cst);
  wakeEventWord(event);
}

}  // namespace halyard::hal
