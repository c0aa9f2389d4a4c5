// A trace of this process and of the drivers that work for it. It starts and stops recording
// everywhere, and collects the records.
// Thread safety: all methods may be called from any thread.
// Ownership: a process has one TraceCollection, which is never destroyed. It keeps the memory of
// the last trace, and refers weakly to the drivers' connections. A child of a fork begins without a
// trace.
//
// Drivers write to memory that they share with this process, so that the records of a crashed
// driver remain. Records of drivers may be arbitrary: trace/timeline.h checks them.
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
  // Asks the driver to record in `memory` from now on. An error gives the reason for a refusal.
  virtual Status beginTrace(const SharedMemoryPtr& memory) = 0;
  // Asks it to stop. Does not wait.
  virtual void endTrace() = 0;
};

// The records of one driver.
struct DriverRecords {
  std::string name;
  int64_t processId = 0;
  uint32_t peer = 0;  // Record::peer of the slices of this process that wait for it
  Status status;      // not OK: the reason why it does not record
  std::vector<Record> records;
  uint64_t lost = 0;
};

struct TraceRecords {
  bool running = false;
  bool started = false;         // whether there has ever been a trace
  uint64_t begin = 0;           // ns of CLOCK_MONOTONIC
  uint64_t end = 0;             // now, if the trace still runs
  std::vector<Record> records;  // of this process
  uint64_t lost = 0;
  std::vector<DriverRecords> drivers;  // in the order in which they connected
};

class TraceCollection {
 public:
  static TraceCollection& ofProcess();

  // Begins a trace of at most `capacity` slices, in this process and in each driver's; 0: the
  // default. Waits until the drivers know, or have refused. Discards the records of an earlier
  // trace. Returns BAD_STATE while a trace runs, BAD_DATA for more than Recorder::kMostCapacity.
  Status start(uint32_t capacity);
  // Ends the trace and keeps its records. Returns BAD_STATE when no trace runs.
  Status stop();
  // Returns the current records, also while the trace runs.
  TraceRecords records() const;

  // Adds a connected driver. Returns its Record::peer. If a trace runs, it asks the driver to
  // record before it returns.
  uint32_t add(const std::shared_ptr<DriverSource>& source);
  // The same for a driver in this process, which stays until the end: `attach` is its attachTrace.
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

  // Asks the driver to record in memory of its own. The lock is not held.
  static Driver ask(const std::shared_ptr<DriverSource>& source, uint32_t peer, uint32_t capacity);
  // Adds the result of ask to the trace `number`, unless that has ended.
  void take(Driver driver, uint64_t number);

  std::mutex starting_;       // held during start and stop
  mutable std::mutex mutex_;  // for the following members
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
