// Recorders: bounded buffers for a trace's slices. Threads and other processes write to them at the
// same time. halyard/driver/trace.h has the functions that record.
// Thread safety: all functions and methods may be called from any thread.
// Ownership: a Recorder owns its memory, shares it, or borrows it from the caller that attached it.
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

// The layout in memory that two processes share. The size and layout are part of the wire protocol
// (hal/driver.capnp, IDriver.trace).
struct Record {
  static constexpr size_t kTextBytes = 72;        // including its NUL
  enum Kind : uint8_t { SLICE = 0, THREAD = 1 };  // THREAD: `text` is the name of `thread`

  uint64_t begin = 0;  // ns of CLOCK_MONOTONIC
  uint64_t end = 0;
  uint64_t context = 0;
  uint32_t thread = 0;  // the kernel's number of the thread in its process
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
  // Returns the size of the memory for this number of records.
  static size_t bytesFor(uint32_t capacity);

  // Allocates its own memory; pages are taken as they are written. Returns OUT_OF_MEMORY on
  // failure.
  static Result<std::unique_ptr<Recorder>> create(uint32_t capacity);
  // Uses memory that another process shares. It stays mapped as long as the recorder lives, and
  // must be of a kind that cannot shrink. Returns BAD_DATA when it has no room for one record.
  static Result<std::unique_ptr<Recorder>> over(SharedMemoryPtr memory);
  // Uses memory of this process that the caller keeps; it must be aligned to 64 bytes.
  static std::unique_ptr<Recorder> borrowing(void* memory, size_t bytes);

  // Drops the record when the buffer is full.
  void add(const Record& record);
  // Returns all complete records. If another process writes the memory, the records may be
  // arbitrary.
  std::vector<Record> records() const;
  // Returns the number of records that did not fit.
  uint64_t lost() const;

  uint32_t capacity() const { return capacity_; }
  uint64_t id() const { return id_; }  // unique in the process
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

// Sets the recorder of threads without a RecorderUse; there is at most one. Null ends recording.
// After the return, no thread writes to the old recorder any more.
void setProcessRecorder(Recorder* recorder);

// While it lives, the calling thread's records go to `recorder`, because the thread works for the
// client of that recorder. Null changes nothing.
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

// Counts a recorder besides the process's own. While there is one, scopes look for it.
class ActiveRecorder {
 public:
  ActiveRecorder() { activeRecorders.fetch_add(1, std::memory_order_relaxed); }
  ~ActiveRecorder() { activeRecorders.fetch_sub(1, std::memory_order_relaxed); }
  ActiveRecorder(const ActiveRecorder&) = delete;
  ActiveRecorder& operator=(const ActiveRecorder&) = delete;
};

// The recorder that a client has provided for the work on its behalf; empty at first.
class ClientRecorder {
 public:
  void set(std::shared_ptr<Recorder> recorder);
  // Returns null while no client traces.
  std::shared_ptr<Recorder> get() const;

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<Recorder> recorder_;
  std::unique_ptr<ActiveRecorder> active_;
};

// Returns the context of the calling thread's innermost slice that has one, else 0.
uint64_t currentContext();

// Records a slice that began on another thread, or earlier.
void addSlice(Layer layer, Phase phase, std::string_view text, uint64_t begin, uint64_t end,
              const Details& details = {});

// Returns ns of CLOCK_MONOTONIC, which all processes of a machine share.
uint64_t now();

}  // namespace halyard::trace
