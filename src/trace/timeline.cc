// Records to slices: copies that are checked first, then nested.
#include "trace/timeline.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace halyard::trace {
namespace {

constexpr size_t kMostThreads = 4096;
// Beyond what the kernel gives out: of processes whose own number cannot be theirs.
constexpr int64_t kFirstMadeUpProcess = int64_t{1} << 22;

struct Interval {
  uint64_t begin = 0;
  uint64_t end = 0;
};

std::string printable(const std::array<char, Record::kTextBytes>& text) {
  std::string result;
  for (const char c : text) {
    if (c == '\0') break;
    result += c >= ' ' && c <= '~' ? c : '?';
  }
  return result;
}

bool isSlice(const Record& record) {
  return record.layer < kLayers && record.phase < kPhases &&
         record.variant <= static_cast<uint8_t>(Variant::SUBTRACT) && record.begin <= record.end &&
         record.begin != 0;
}

bool mayBeDrivers(const Record& record) {
  const auto layer = static_cast<Layer>(record.layer);
  return layer == Layer::DRIVER || layer == Layer::CPU || layer == Layer::UTILITY ||
         layer == Layer::OTHER;
}

// When this process waited for the driver: what does not touch each other, ascending.
std::vector<Interval> waitsFor(uint32_t peer, const TraceRecords& trace) {
  std::vector<Interval> all;
  for (const Record& record : trace.records) {
    if (record.peer != peer || record.kind != Record::SLICE || !isSlice(record)) continue;
    all.push_back({record.begin, record.openEnded != 0 ? trace.end : record.end});
  }
  std::ranges::sort(all, {}, &Interval::begin);
  std::vector<Interval> merged;
  for (const Interval& each : all) {
    if (!merged.empty() && each.begin <= merged.back().end) {
      merged.back().end = std::max(merged.back().end, each.end);
    } else {
      merged.push_back(each);
    }
  }
  return merged;
}

// The part of the slice that lies in the wait that has most of it.
std::optional<Interval> within(const std::vector<Interval>& waits, const Record& record) {
  auto it = std::ranges::upper_bound(waits, record.begin, {}, &Interval::begin);
  if (it != waits.begin()) --it;
  std::optional<Interval> best;
  for (; it != waits.end() && it->begin <= record.end; ++it) {
    if (it->end < record.begin) continue;
    const Interval common{std::max(it->begin, record.begin), std::min(it->end, record.end)};
    if (!best || common.end - common.begin > best->end - best->begin) best = common;
  }
  return best;
}

Slice sliceOf(const Record& record) {
  Slice slice;
  slice.mark.variant = static_cast<Variant>(record.variant);
  slice.mark.layer = static_cast<Layer>(record.layer);
  slice.mark.phase = static_cast<Phase>(record.phase);
  slice.mark.detail = printable(record.text);
  slice.begin = record.begin;
  slice.end = record.end;
  slice.context = record.context;
  slice.operation = std::max(record.operation, -1);
  slice.subgraph = record.subgraph;
  slice.peer = record.peer;
  slice.openEnded = record.openEnded != 0;
  return slice;
}

// Gathers the slices of a process by thread.
class ProcessMaker {
 public:
  explicit ProcessMaker(ProcessTimeline* process) : process_(process) {}

  ThreadTimeline* thread(uint32_t number) {
    const auto known = threads_.find(number);
    if (known != threads_.end()) return &known->second;
    if (threads_.size() == kMostThreads) return nullptr;
    ThreadTimeline& made = threads_[number];
    made.number = number;
    made.name = fmt::format("thread {}", number);
    return &made;
  }

  void name(const Record& record) {
    ThreadTimeline* const named = thread(record.thread);
    std::string text = printable(record.text);
    if (named != nullptr && !text.empty()) named->name = std::move(text);
  }

  void add(uint32_t number, Slice slice) {
    ThreadTimeline* const target = thread(number);
    if (target == nullptr) {
      ++process_->rejected;
      return;
    }
    target->slices.push_back(std::move(slice));
  }

  void finish() {
    for (auto& [number, each] : threads_) {
      nest(&each);
      process_->threads.push_back(std::move(each));
    }
  }

 private:
  void nest(ThreadTimeline* target) {
    std::vector<Slice>& slices = target->slices;
    // Of slices of the same time the one of the higher layer is the outer one; records come in the
    // order of their ends, so that the outer one is the later.
    std::ranges::reverse(slices);
    std::ranges::stable_sort(slices, [](const Slice& a, const Slice& b) {
      return std::tie(a.begin, b.end) < std::tie(b.begin, a.end);
    });
    std::vector<size_t> open;
    for (size_t i = 0; i < slices.size(); ++i) {
      Slice& slice = slices[i];
      while (!open.empty() && slices[open.back()].end <= slice.begin &&
             slices[open.back()].end < slice.end) {
        open.pop_back();
      }
      if (!open.empty()) {
        const Slice& outer = slices[open.back()];
        slice.parent = open.back();
        if (slice.end > outer.end) {
          slice.end = outer.end;
          ++process_->cut;
        }
      }
      inherit(slices, &slice);
      open.push_back(i);
    }
  }

  void inherit(const std::vector<Slice>& slices, Slice* slice) const {
    const Slice* const outer = slice->parent == Slice::kNone ? nullptr : &slices[slice->parent];
    slice->layer = slice->mark.layer;
    slice->phase = slice->mark.phase;
    if (slice->layer == Layer::UTILITY && outer != nullptr) slice->layer = outer->layer;
    if (slice->phase == Phase::UNSPECIFIED && outer != nullptr) slice->phase = outer->phase;
    if (process_->isDriver && slice->layer == Layer::CPU) slice->layer = Layer::DRIVER;
    if (!process_->isDriver && slice->layer == Layer::DRIVER) slice->layer = Layer::CPU;
    if (slice->context == 0 && outer != nullptr) slice->context = outer->context;
  }

  ProcessTimeline* const process_;
  std::map<uint32_t, ThreadTimeline> threads_;
};

ProcessTimeline ownTimeline(const TraceRecords& trace, std::string name, int64_t processId) {
  ProcessTimeline process;
  process.name = std::move(name);
  process.processId = processId;
  process.lost = trace.lost;
  ProcessMaker maker(&process);
  for (const Record& record : trace.records) {
    if (record.kind == Record::THREAD) {
      maker.name(record);
    } else if (record.kind == Record::SLICE && isSlice(record)) {
      maker.add(record.thread, sliceOf(record));
    } else {
      ++process.rejected;  // a library in this process may have written it
    }
  }
  maker.finish();
  return process;
}

ProcessTimeline driverTimeline(const DriverRecords& driver, const TraceRecords& trace) {
  ProcessTimeline process;
  process.name = driver.name;
  process.processId = driver.processId;
  process.isDriver = true;
  process.status = driver.status;
  process.lost = driver.lost;
  const std::vector<Interval> waits = waitsFor(driver.peer, trace);
  std::set<uint64_t> contexts;
  for (const Record& record : trace.records) contexts.insert(record.context);
  ProcessMaker maker(&process);
  for (const Record& record : driver.records) {
    if (record.kind == Record::THREAD) {
      maker.name(record);
      continue;
    }
    const bool usable = record.kind == Record::SLICE && isSlice(record) && mayBeDrivers(record);
    const auto possible = usable ? within(waits, record) : std::nullopt;
    if (!possible) {
      ++process.rejected;
      continue;
    }
    Slice slice = sliceOf(record);
    if (possible->begin != slice.begin || possible->end != slice.end) ++process.cut;
    slice.begin = possible->begin;
    slice.end = possible->end;
    slice.peer = 0;
    slice.openEnded = false;
    if (!contexts.contains(slice.context)) slice.context = 0;
    maker.add(record.thread, std::move(slice));
  }
  maker.finish();
  return process;
}

}  // namespace

Timeline makeTimeline(const TraceRecords& records, std::string name, int64_t processId) {
  Timeline timeline;
  timeline.begin = records.begin;
  timeline.end = records.end;
  timeline.processes.push_back(ownTimeline(records, std::move(name), processId));
  std::set<int64_t> taken = {processId};
  for (const DriverRecords& driver : records.drivers) {
    ProcessTimeline& process = timeline.processes.emplace_back(driverTimeline(driver, records));
    const bool isOwn = process.processId > 0 && taken.insert(process.processId).second;
    if (!isOwn) process.processId = kFirstMadeUpProcess + driver.peer;
  }
  return timeline;
}

std::string sliceDetail(const Slice& slice) {
  if (slice.operation < 0) return slice.mark.detail;
  std::string text = fmt::format("{} #{}", slice.mark.detail, slice.operation);
  if (slice.subgraph != 0) text += fmt::format(" of subgraph {}", slice.subgraph - 1);
  return text;
}

Status checkNesting(const ProcessTimeline& process) {
  for (const ThreadTimeline& thread : process.threads) {
    for (const Slice& slice : thread.slices) {
      if (slice.parent == Slice::kNone) continue;
      const Slice& outer = thread.slices[slice.parent];
      const Mark around{outer.mark.variant, outer.layer, outer.phase, outer.mark.detail};
      const Mark own{slice.mark.variant, slice.layer, slice.phase, slice.mark.detail};
      HALYARD_RETURN_IF_ERROR(checkNesting(around, own), "process {}, thread {}", process.name,
                              thread.name);
    }
  }
  return okStatus();
}

}  // namespace halyard::trace
