// A trace of this process and of the drivers that work for it: starts and stops recording
// everywhere, and gathers what has been recorded.
// Thread safety: all methods may be called from any thread.
// Ownership: there is one TraceCollection in a process, which nothing destroys; it keeps the memory
// of the last trace, and refers weakly to the drivers' connections. A child of a fork begins
// without a trace.
//
// Drivers write to memory that they share with this process, so that what a driver has recorded is
// there even if it has crashed. Nothing that a driver has written is believed: trace/timeline.h is
// what looks at it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "trace/recorder.h"

namespace halyard::trace {

// A connection to a driver in another process. Its methods may be called by several threads at
// once.
class DriverSource {
 public:
  virtual ~DriverSource() = default;
  virtual std::string traceName() const = 0;
  virtual int64_t traceProcessId() const = 0;
  // Asks the driver to record in `memory` from now on. The error tells why it does not.
  virtual Status beginTrace(const SharedMemoryPtr& memory) = 0;
  // Asks it to stop. Does not wait.
  virtual void endTrace() = 0;
};

// What one driver has recorded.
struct DriverRecords {
  std::string name;
  int64_t processId = 0;
  uint32_t peer = 0;  // Record::peer of the slices of this process that wait for it
  Status status;      // not OK: it does not record, and why
  std::vector<Record> records;
  uint64_t lost = 0;
};

struct TraceRecords {
  bool running = false;
  bool started = false;         // at any time
  uint64_t begin = 0;           // ns of CLOCK_MONOTONIC
  uint64_t end = 0;             // until now, if it still runs
  std::vector<Record> records;  // of this process
  uint64_t lost = 0;
  std::vector<DriverRecords> drivers;  // in the order in which they came
};

class TraceCollection {
 public:
  static TraceCollection& ofProcess();

  // Begins a trace of at most so many slices, in this process and in each driver's; 0: the default.
  // Waits until the drivers know, or have refused. What an earlier trace has recorded is gone.
  // BAD_STATE while a trace runs, BAD_DATA for more than Recorder::kMostCapacity.
  Status start(uint32_t capacity);
  // Ends it; what has been recorded is kept. BAD_STATE when none runs.
  Status stop();
  // What there is now; also while the trace runs.
  TraceRecords records() const;

  // A driver has been connected. The result is its Record::peer. If a trace runs, the driver is
  // asked to record before this returns.
  uint32_t add(const std::shared_ptr<DriverSource>& source);
  // The same for a driver in this process, which is there for good: `attach` is its attachTrace.
  void addLibrary(void (*attach)(void* memory, size_t bytes));

 private:
  struct Driver {
    std::string name;
    int64_t processId = 0;
    uint32_t peer = 0;
    Status status;
    std::unique_ptr<Recorder> recorder;  // null when there was no memory
    std::weak_ptr<DriverSource> source;
  };
  struct Known {
    uint32_t peer = 0;
    std::weak_ptr<DriverSource> source;
  };

  // Asks the driver to record in memory of its own. Without the lock.
  static Driver ask(const std::shared_ptr<DriverSource>& source, uint32_t peer, uint32_t capacity);
  // Adds what ask has given to the trace `number`, unless that has ended.
  void take(Driver driver, uint64_t number);

  std::mutex starting_;       // for start and stop as a whole
  mutable std::mutex mutex_;  // for what follows
  bool running_ = false;
  uint64_t number_ = 0;  // of the last trace
  uint64_t begin_ = 0;
  uint64_t end_ = 0;
  uint32_t capacity_ = 0;
  std::unique_ptr<Recorder> own_;
  std::vector<Driver> drivers_;
  uint32_t nextPeer_ = 1;
  std::vector<Known> sources_;
  std::vector<void (*)(void*, size_t)> libraries_;
};

}  // namespace halyard::trace
