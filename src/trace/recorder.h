// Recorders: bounded buffers of a trace's slices that threads, and other processes, write to at
// once. What is recorded with is in halyard/driver/trace.h.
// Thread safety: all functions and methods may be called from any thread.
// Ownership: a Recorder owns its memory, shares it, or borrows it from whoever attached it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "halyard/driver/shared_memory.h"
#include "halyard/driver/trace.h"

namespace halyard::trace {

// As it lies in memory that two processes share: its size and layout are part of the wire's
// protocol (hal/driver.capnp, IDriver.trace).
struct Record {
  static constexpr size_t kTextBytes = 72;        // with its NUL
  enum Kind : uint8_t { SLICE = 0, THREAD = 1 };  // THREAD: `text` is the name of `thread`

  uint64_t begin = 0;  // ns of CLOCK_MONOTONIC
  uint64_t end = 0;
  uint64_t context = 0;
  uint32_t thread = 0;  // the number of the thread in its process, as the kernel has it there
  int32_t operation = -1;
  uint32_t subgraph = 0;
  uint32_t peer = 0;
  uint8_t layer = 0;
  uint8_t phase = 0;
  uint8_t variant = 0;
  uint8_t kind = SLICE;
  uint32_t openEnded = 0;
  std::array<char, kTextBytes> text = {};
};
static_assert(sizeof(Record) == 120);

class Recorder {
 public:
  static constexpr uint32_t kDefaultCapacity = 1 << 16;  // records: 8 MiB
  static constexpr uint32_t kMostCapacity = 1 << 20;
  // Of the memory that holds so many records.
  static size_t bytesFor(uint32_t capacity);

  // With memory of its own; pages are taken as they are written. OUT_OF_MEMORY.
  static Result<std::unique_ptr<Recorder>> create(uint32_t capacity);
  // In memory that is shared with another process, and stays mapped as long as the recorder lives;
  // it must be of a kind that cannot shrink. BAD_DATA when it does not have room for one record.
  static Result<std::unique_ptr<Recorder>> over(SharedMemoryPtr memory);
  // In memory of this process that the caller keeps; 64 bytes aligned.
  static std::unique_ptr<Recorder> borrowing(void* memory, size_t bytes);

  // Drops the record when the buffer is full.
  void add(const Record& record);
  // What has been written completely by now. Nothing of it may be believed when another process
  // writes it.
  std::vector<Record> records() const;
  // How many records there was no room for.
  uint64_t lost() const;

  uint32_t capacity() const { return capacity_; }
  uint64_t id() const { return id_; }  // of no other recorder of the process
  void* memory() const { return memory_; }
  size_t bytes() const { return bytesFor(capacity_); }

 private:
  struct Header;
  struct Slot;
  Recorder(void* memory, uint32_t capacity);

  Header& header() const;
  Slot* slots() const;

  void* const memory_;
  const uint32_t capacity_;
  const uint64_t id_;
  SharedMemoryPtr shared_;
  std::optional<Mapping> own_;
};

// Where threads without a RecorderUse record; at most one at a time. Null to end that: on return no
// thread writes to the old one any more.
void setProcessRecorder(Recorder* recorder);

// What the calling thread records goes to `recorder` while this lives, as it is done for the client
// that the recorder belongs to. Null changes nothing.
class RecorderUse {
 public:
  explicit RecorderUse(std::shared_ptr<Recorder> recorder);
  ~RecorderUse();
  RecorderUse(const RecorderUse&) = delete;
  RecorderUse& operator=(const RecorderUse&) = delete;

 private:
  std::shared_ptr<Recorder> recorder_;
  Recorder* before_ = nullptr;
};

// Counts a recorder that is there for others than the process's own: while there is one, scopes
// look for it.
class ActiveRecorder {
 public:
  ActiveRecorder() { activeRecorders.fetch_add(1, std::memory_order_relaxed); }
  ~ActiveRecorder() { activeRecorders.fetch_sub(1, std::memory_order_relaxed); }
  ActiveRecorder(const ActiveRecorder&) = delete;
  ActiveRecorder& operator=(const ActiveRecorder&) = delete;
};

// The recorder that a client has given for what is done for it; empty at first.
class ClientRecorder {
 public:
  void set(std::shared_ptr<Recorder> recorder);
  // Null while nobody traces.
  std::shared_ptr<Recorder> get() const;

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<Recorder> recorder_;
  std::unique_ptr<ActiveRecorder> active_;
};

// The context of the calling thread's innermost slice that has one, else 0.
uint64_t currentContext();

// Records a slice whose beginning was on another thread, or earlier.
void addSlice(Layer layer, Phase phase, std::string_view text, uint64_t begin, uint64_t end,
              const Details& details = {});

// ns of CLOCK_MONOTONIC: one clock for all processes of a machine.
uint64_t now();

}  // namespace halyard::trace
