// Starts and stops recording everywhere. The lock is not held during calls to drivers, because they
// may be slow.
#include "trace/trace_collection.h"

#include <algorithm>
#include <utility>

#include "base/process_generation.h"

namespace halyard::trace {
namespace {

// A service with ever new connections must not let a trace grow without limit.
constexpr size_t kMostDrivers = 256;

}  // namespace

TraceCollection& TraceCollection::ofProcess() {
  static constinit PerProcess<TraceCollection> collection;
  return collection.get();
}

TraceCollection::Driver TraceCollection::ask(const std::shared_ptr<DriverSource>& source,
                                             uint32_t peer, uint32_t capacity) {
  Driver driver;
  driver.name = source->traceName();
  driver.processId = source->traceProcessId();
  driver.peer = peer;
  driver.source = source;
  auto memory = SharedMemory::create(Recorder::bytesFor(capacity), "halyard-trace");
  if (!memory.ok()) {
    driver.status = memory.takeStatus();
    return driver;
  }
  auto recorder = Recorder::over(*memory);
  if (!recorder.ok()) {
    driver.status = recorder.takeStatus();
    return driver;
  }
  driver.recorder = std::move(*recorder);
  driver.status = source->beginTrace(*memory);
  return driver;
}

void TraceCollection::take(Driver driver, uint64_t number) {
  const std::shared_ptr<DriverSource> source = driver.source.lock();
  {
    const std::lock_guard lock(mutex_);
    if (running_ && number_ == number) {
      if (drivers_.size() < kMostDrivers) drivers_.push_back(std::move(driver));
      return;
    }
  }
  if (source != nullptr && driver.status.ok()) source->endTrace();
}

Status TraceCollection::start(uint32_t capacity) {
  if (capacity > Recorder::kMostCapacity) {
    return badData("a trace of {} slices; at most {} are recorded", capacity,
                   Recorder::kMostCapacity);
  }
  if (capacity == 0) capacity = Recorder::kDefaultCapacity;
  const std::lock_guard whole(starting_);
  uint64_t number = 0;
  std::vector<std::pair<uint32_t, std::shared_ptr<DriverSource>>> known;
  {
    const std::lock_guard lock(mutex_);
    if (running_) return badState("a trace is running already");
    HALYARD_ASSIGN_OR_RETURN(auto own, Recorder::create(capacity));
    drivers_.clear();
    own_ = std::move(own);
    capacity_ = capacity;
    number = ++number_;
    running_ = true;
    begin_ = now();
    setProcessRecorder(own_.get());
    for (const auto attach : libraries_) attach(own_->memory(), own_->bytes());
    std::erase_if(sources_, [](const Known& each) { return each.source.expired(); });
    for (const Known& each : sources_) {
      if (auto source = each.source.lock()) known.emplace_back(each.peer, std::move(source));
    }
  }
  for (const auto& [peer, source] : known) take(ask(source, peer, capacity), number);
  return okStatus();
}

Status TraceCollection::stop() {
  const std::lock_guard whole(starting_);
  std::vector<std::shared_ptr<DriverSource>> asked;
  {
    const std::lock_guard lock(mutex_);
    if (!running_) return badState("no trace is running");
    running_ = false;
    for (const auto attach : libraries_) attach(nullptr, 0);
    setProcessRecorder(nullptr);
    end_ = now();
    for (const Driver& driver : drivers_) {
      if (auto source = driver.source.lock()) asked.push_back(std::move(source));
    }
  }
  for (const auto& source : asked) source->endTrace();
  return okStatus();
}

TraceRecords TraceCollection::records() const {
  const std::lock_guard lock(mutex_);
  TraceRecords result;
  result.running = running_;
  result.started = own_ != nullptr;
  result.begin = begin_;
  result.end = running_ ? now() : end_;
  if (own_ != nullptr) {
    result.records = own_->records();
    result.lost = own_->lost();
  }
  for (const Driver& driver : drivers_) {
    DriverRecords& records = result.drivers.emplace_back();
    records.name = driver.name;
    records.processId = driver.processId;
    records.peer = driver.peer;
    records.status = driver.status;
    if (driver.recorder == nullptr || !driver.status.ok()) continue;
    records.records = driver.recorder->records();
    records.lost = driver.recorder->lost();
  }
  return result;
}

uint32_t TraceCollection::add(const std::shared_ptr<DriverSource>& source) {
  uint32_t peer = 0;
  uint32_t capacity = 0;
  uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(sources_, [](const Known& each) { return each.source.expired(); });
    peer = nextPeer_++;
    sources_.push_back({peer, source});
    if (!running_) return peer;
    capacity = capacity_;
    number = number_;
  }
  take(ask(source, peer, capacity), number);
  return peer;
}

void TraceCollection::addLibrary(void (*attach)(void* memory, size_t bytes)) {
  const std::lock_guard lock(mutex_);
  if (std::ranges::find(libraries_, attach) != libraries_.end()) return;
  libraries_.push_back(attach);
  if (running_) attach(own_->memory(), own_->bytes());
}

}  // namespace halyard::trace
