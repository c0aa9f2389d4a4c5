// Timeline: the slices of a trace, by process and thread, checked and nested.
// Thread safety: pure functions on plain data. Ownership: results own their data.
//
// What drivers have recorded is believed as far as this process can vouch for it: a slice of a
// driver lies within the time in which this process waited for that driver, and is cut or left out
// otherwise; its context is one that this process has used; its texts are printable. However long
// and many its records are, the time that this takes grows as they and the waits do, but for
// logarithms.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/trace_collection.h"
#include "trace/mark.h"

namespace halyard::trace {

struct Slice {
  static constexpr size_t kNone = SIZE_MAX;

  Mark mark;  // as it was recorded, but for texts
  // What counts: a UTILITY slice is of the layer around it, an UNSPECIFIED one of the phase around
  // it; the CPU executor within a driver is the driver, and a driver within the application is the
  // CPU.
  Layer layer = Layer::OTHER;
  Phase phase = Phase::UNSPECIFIED;
  uint64_t begin = 0;  // ns of CLOCK_MONOTONIC
  uint64_t end = 0;
  uint64_t context = 0;  // its own, or that of the slice around it
  int32_t operation = -1;
  uint32_t subgraph = 0;
  uint32_t peer = 0;
  bool openEnded = false;
  size_t parent = kNone;  // index in the same thread

  uint64_t duration() const { return end - begin; }
};

struct ThreadTimeline {
  uint32_t number = 0;
  std::string name;
  std::vector<Slice> slices;  // by beginning; an outer slice before those within it
};

struct ProcessTimeline {
  std::string name;
  int64_t processId = 0;  // of no other process of the timeline
  bool isDriver = false;
  Status status;  // of a driver that does not record: why
  std::vector<ThreadTimeline> threads;
  uint64_t lost = 0;      // for want of room
  uint64_t rejected = 0;  // no records, not within any call, or nested too deep
  uint64_t cut = 0;       // reached out of the call, or of the slice around them
};

struct Timeline {
  uint64_t begin = 0;
  uint64_t end = 0;
  std::vector<ProcessTimeline> processes;  // this one first
};

// `name`, `processId`: of this process.
Timeline makeTimeline(const TraceRecords& records, std::string name, int64_t processId);

// What an operation's slice is called: "CONV_2D #3", "ADD #0 of subgraph 2".
std::string sliceDetail(const Slice& slice);

// The first slice that stands where it may not, by checkNesting; OK when there is none.
Status checkNesting(const ProcessTimeline& process);

}  // namespace halyard::trace
