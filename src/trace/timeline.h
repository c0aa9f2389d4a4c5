// Timeline: the slices of a trace, by process and thread, checked and nested.
// Thread safety: pure functions on plain data.
// Ownership: results own their data.
//
// Records of drivers count only as far as this process can check them. A driver's slice must lie
// within the time in which this process waited for that driver; otherwise it is cut or left out.
// Its context must be one that this process has used, and its texts must be printable. The
// processing time grows with the number of records and waits, apart from logarithms.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/mark.h"
#include "trace/trace_collection.h"

namespace halyard::trace {

struct Slice {
  static constexpr size_t kNone = SIZE_MAX;

  Mark mark;  // as recorded, except for its texts
  // The layer and phase that count. A UTILITY slice takes the layer around it, an UNSPECIFIED slice
  // the phase around it. The CPU executor within a driver counts as the driver, and a driver within
  // the application as the CPU.
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
  std::vector<Slice> slices;  // ordered by beginning; an outer slice comes before those within it
};

struct ProcessTimeline {
  std::string name;
  int64_t processId = 0;  // unique in the timeline
  bool isDriver = false;
  Status status;  // the reason why a driver does not record
  std::vector<ThreadTimeline> threads;
  uint64_t lost = 0;      // records that did not fit
  uint64_t rejected = 0;  // invalid records, outside any call, or nested too deep
  uint64_t cut = 0;       // slices that exceeded the call, or the slice around them
};

struct Timeline {
  uint64_t begin = 0;
  uint64_t end = 0;
  std::vector<ProcessTimeline> processes;  // this process first
};

// `name`, `processId`: those of this process.
Timeline makeTimeline(const TraceRecords& records, std::string name, int64_t processId);

// Returns the name of an operation's slice: "CONV_2D #3", "ADD #0 of subgraph 2".
std::string sliceDetail(const Slice& slice);

// Returns the error of the first slice at a wrong place, by the checkNesting of marks; OK if all
// slices are correct.
Status checkNesting(const ProcessTimeline& process);

}  // namespace halyard::trace
