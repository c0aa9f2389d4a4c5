// A writer takes a slot by one atomic addition and then fills it. The slot's state tells when it is
// complete.
#include "trace/recorder.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <mutex>
#include <new>
#include <thread>

#include "base/process_generation.h"

namespace halyard::trace {

std::atomic<uint32_t> activeRecorders = 0;

struct Recorder::Header {
  std::atomic<uint64_t> next = 0;  // the next slot; records beyond the last slot are lost
  std::array<uint8_t, 120> reserved = {};
};
struct Recorder::Slot {
  std::atomic<uint32_t> complete = 0;
  uint32_t reserved = 0;
  Record record;
};

namespace {

struct ThreadState {
  Recorder* recorder = nullptr;  // set by the innermost RecorderUse
  uint64_t context = 0;
  uint64_t introducedTo = 0;  // the recorder that knows the thread's name
  uint32_t number = 0;
};

ThreadState& thread() {
  thread_local ThreadState state;
  return state;
}

uint32_t threadNumber(ThreadState& state) {
  if (state.number == 0) state.number = static_cast<uint32_t>(::syscall(SYS_gettid));
  return state.number;
}

std::atomic<Recorder*> processRecorder = nullptr;
// The number of threads that may be writing to it.
std::atomic<uint64_t> processWriters = 0;
std::atomic<uint64_t> nextId = 1;

void copyText(std::string_view from, Record* to) {
  const size_t length = std::min(from.size(), Record::kTextBytes - 1);
  std::memcpy(to->text.data(), from.data(), length);
  to->text[length] = '\0';
}

void addTo(Recorder& recorder, ThreadState& state, Record& record) {
  record.thread = threadNumber(state);
  if (state.introducedTo != recorder.id()) {
    state.introducedTo = recorder.id();
    Record name;
    name.kind = Record::THREAD;
    name.thread = record.thread;
    if (::pthread_getname_np(::pthread_self(), name.text.data(), Record::kTextBytes) != 0) {
      name.text[0] = '\0';
    }
    recorder.add(name);
  }
  recorder.add(record);
}

// Writes the record to the thread's recorder, or to the process's, if there is one.
void write(Record& record) {
  ThreadState& state = thread();
  if (state.recorder != nullptr) return addTo(*state.recorder, state, record);
  // With this order, either setProcessRecorder sees the writer, or the writer sees the new
  // recorder.
  processWriters.fetch_add(1, std::memory_order_seq_cst);
  if (Recorder* const recorder = processRecorder.load(std::memory_order_seq_cst)) {
    addTo(*recorder, state, record);
  }
  processWriters.fetch_sub(1, std::memory_order_release);
}

// A child of a fork has no recorder, and the parent's writing threads do not exist in it.
void forgetRecorders() {
  activeRecorders.store(0, std::memory_order_relaxed);
  processRecorder.store(nullptr, std::memory_order_relaxed);
  processWriters.store(0, std::memory_order_relaxed);
  thread() = ThreadState();
}

bool isLookedAt() {
  return thread().recorder != nullptr || processRecorder.load(std::memory_order_relaxed) != nullptr;
}

Record recordOf(Layer layer, Phase phase, std::string_view text, uint64_t begin, uint64_t end,
                const Details& details) {
  Record record;
  record.begin = begin;
  record.end = end;
  record.context = details.context;
  record.operation = details.operation;
  record.subgraph = details.subgraph;
  record.peer = details.peer;
  record.layer = static_cast<uint8_t>(layer);
  record.phase = static_cast<uint8_t>(phase);
  record.variant = static_cast<uint8_t>(details.variant);
  record.openEnded = details.openEnded ? 1 : 0;
  copyText(text, &record);
  return record;
}

}  // namespace

uint64_t now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

uint64_t currentContext() { return thread().context; }

size_t Recorder::bytesFor(uint32_t capacity) {
  static_assert(sizeof(Header) == 128 && sizeof(Slot) == 128);
  return sizeof(Header) + capacity * sizeof(Slot);
}

Recorder::Recorder(void* memory, uint32_t capacity)
    : memory_(memory), capacity_(capacity), id_(nextId.fetch_add(1)) {}

Result<std::unique_ptr<Recorder>> Recorder::create(uint32_t capacity) {
  capacity = std::clamp<uint32_t>(capacity, 1, kMostCapacity);
  const size_t bytes = bytesFor(capacity);
  // The memory is zeroed, so that no slot is complete.
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return errnoStatus(ResultCode::OUT_OF_MEMORY, errno, "memory for a trace");
  }
  std::unique_ptr<Recorder> recorder(new Recorder(memory, capacity));
  recorder->own_.emplace(memory, bytes, 0, bytes);
  return recorder;
}

Result<std::unique_ptr<Recorder>> Recorder::over(SharedMemoryPtr memory) {
  if (memory->size() < bytesFor(1)) {
    return badData("{} bytes for a trace, of which one record takes {}", memory->size(),
                   bytesFor(1));
  }
  HALYARD_ASSIGN_OR_RETURN(const Mapping* const mapping, memory->mapped());
  const size_t slots = (mapping->size() - sizeof(Header)) / sizeof(Slot);
  std::unique_ptr<Recorder> recorder(
      new Recorder(mapping->data(), static_cast<uint32_t>(std::min<size_t>(slots, kMostCapacity))));
  recorder->shared_ = std::move(memory);
  return recorder;
}

std::unique_ptr<Recorder> Recorder::borrowing(void* memory, size_t bytes) {
  const size_t slots = bytes < bytesFor(1) ? 0 : (bytes - sizeof(Header)) / sizeof(Slot);
  return std::unique_ptr<Recorder>(
      new Recorder(memory, static_cast<uint32_t>(std::min<size_t>(slots, kMostCapacity))));
}

Recorder::Header& Recorder::header() const { return *static_cast<Header*>(memory_); }

Recorder::Slot* Recorder::slots() const {
  return reinterpret_cast<Slot*>(static_cast<std::byte*>(memory_) + sizeof(Header));
}

void Recorder::add(const Record& record) {
  if (capacity_ == 0) return;
  // The other process may have written any value here.
  const uint64_t index = header().next.fetch_add(1, std::memory_order_relaxed);
  if (index >= capacity_) return;
  Slot& slot = slots()[index];
  std::memcpy(&slot.record, &record, sizeof record);
  slot.complete.store(1, std::memory_order_release);
}

std::vector<Record> Recorder::records() const {
  const uint64_t taken = header().next.load(std::memory_order_acquire);
  const size_t count = static_cast<size_t>(std::min<uint64_t>(taken, capacity_));
  std::vector<Record> result;
  result.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const Slot& slot = slots()[i];
    if (slot.complete.load(std::memory_order_acquire) != 1) continue;
    // The code makes one copy, and reads only the copy from here on.
    std::memcpy(&result.emplace_back(), &slot.record, sizeof(Record));
  }
  return result;
}

uint64_t Recorder::lost() const {
  const uint64_t taken = header().next.load(std::memory_order_acquire);
  return taken > capacity_ ? taken - capacity_ : 0;
}

void setProcessRecorder(Recorder* recorder) {
  resetInChildren(forgetRecorders);
  Recorder* const before = processRecorder.exchange(recorder, std::memory_order_seq_cst);
  if (recorder != nullptr && before == nullptr) activeRecorders.fetch_add(1);
  if (recorder == nullptr && before != nullptr) activeRecorders.fetch_sub(1);
  // The wait is short, because writers only copy a record.
  while (processWriters.load(std::memory_order_seq_cst) != 0) std::this_thread::yield();
}

void attachTrace(void* memory, size_t bytes) {
  struct Attached {
    std::mutex mutex;
    std::unique_ptr<Recorder> recorder;
  };
  static constinit PerProcess<Attached> process;
  Attached& attached = process.get();
  const std::lock_guard lock(attached.mutex);
  std::unique_ptr<Recorder> recorder =
      memory == nullptr ? nullptr : Recorder::borrowing(memory, bytes);
  setProcessRecorder(recorder.get());
  attached.recorder = std::move(recorder);
}

RecorderUse::RecorderUse(std::shared_ptr<Recorder> recorder) : recorder_(std::move(recorder)) {
  if (recorder_ != nullptr) before_ = std::exchange(thread().recorder, recorder_.get());
}

RecorderUse::~RecorderUse() {
  if (recorder_ != nullptr) thread().recorder = before_;
}

void ClientRecorder::set(std::shared_ptr<Recorder> recorder) {
  const std::lock_guard lock(mutex_);
  recorder_ = std::move(recorder);
  active_ = recorder_ == nullptr ? nullptr : std::make_unique<ActiveRecorder>();
}

std::shared_ptr<Recorder> ClientRecorder::get() const {
  if (!isActive()) return nullptr;
  const std::lock_guard lock(mutex_);
  return recorder_;
}

void addSlice(Layer layer, Phase phase, std::string_view text, uint64_t begin, uint64_t end,
              const Details& details) {
  if (!isActive() || !isLookedAt()) return;
  Record record = recordOf(layer, phase, text, begin, end, details);
  write(record);
}

void Scope::begin(Layer layer, Phase phase, std::string_view text, const Details& details) {
  if (!isLookedAt()) return;
  ThreadState& state = thread();
  outerContext_ = state.context;
  if (details.context != 0) state.context = details.context;
  layer_ = layer;
  phase_ = phase;
  text_ = text;
  details_ = details;
  begin_ = now();
}

void Scope::change(Phase phase, std::string_view text) {
  const uint64_t time = now();
  Record record = recordOf(layer_, phase_, text_, begin_, time, details_);
  write(record);
  phase_ = phase;
  text_ = text;
  details_.variant = Variant::SWITCH;
  begin_ = time;
}

void Scope::end() {
  Record record = recordOf(layer_, phase_, text_, begin_, now(), details_);
  thread().context = outerContext_;
  write(record);
}

}  // namespace halyard::trace
