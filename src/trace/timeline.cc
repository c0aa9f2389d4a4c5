// Turns records into slices: first copies and checks them, then nests them.
#include "trace/timeline.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace halyard::trace {
namespace {

constexpr size_t kMostThreads = 4096;
// The limit of nested slices. A search for the slices around one goes through all of them. A real
// trace has a few dozen.
constexpr size_t kMostNested = 128;
// Above the numbers that the kernel assigns. For processes whose reported number cannot be theirs.
constexpr int64_t kFirstMadeUpProcess = int64_t{1} << 22;

struct Interval {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t length() const { return end - begin; }
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

// The times in which this process waited for a driver. A query takes logarithmic time, because a
// driver can make any number of records of any length.
class Waits {
 public:
  Waits() = default;
  explicit Waits(std::vector<Interval> all) {
    std::ranges::sort(all, {}, &Interval::begin);
    for (const Interval& each : all) {
      if (!waits_.empty() && each.begin <= waits_.back().end) {
        waits_.back().end = std::max(waits_.back().end, each.end);
      } else {
        waits_.push_back(each);
      }
    }
    longest_.resize(2 * waits_.size());
    for (size_t i = 0; i < waits_.size(); ++i) longest_[waits_.size() + i] = i;
    for (size_t i = waits_.size(); i-- > 1;) {
      longest_[i] = longer(longest_[2 * i], longest_[2 * i + 1]);
    }
  }

  // Returns the part of the slice within the wait that covers most of it.
  std::optional<Interval> within(const Record& record) const {
    // The waits that overlap the slice. All except the first and the last lie completely in it.
    const auto first = std::ranges::lower_bound(waits_, record.begin, {}, &Interval::end);
    const auto end = std::ranges::upper_bound(waits_, record.end, {}, &Interval::begin);
    if (first >= end) return std::nullopt;
    const auto common = [&record](const Interval& wait) {
      return Interval{std::max(wait.begin, record.begin), std::min(wait.end, record.end)};
    };
    Interval best = common(*first);
    const auto take = [&best](const Interval& other) {
      if (other.length() > best.length()) best = other;
    };
    const auto last = end - 1;
    if (last - first > 1) {
      take(waits_[longestOf(static_cast<size_t>(first - waits_.begin()) + 1,
                            static_cast<size_t>(last - waits_.begin()))]);
    }
    if (last != first) take(common(*last));
    return best;
  }

 private:
  // Returns the earlier one of two equal waits.
  size_t longer(size_t a, size_t b) const {
    const uint64_t lengthA = waits_[a].length();
    const uint64_t lengthB = waits_[b].length();
    if (lengthA == lengthB) return std::min(a, b);
    return lengthA > lengthB ? a : b;
  }
  // Searches [from, to), which is not empty.
  size_t longestOf(size_t from, size_t to) const {
    size_t best = from;
    for (from += waits_.size(), to += waits_.size(); from < to; from /= 2, to /= 2) {
      if (from % 2 == 1) best = longer(best, longest_[from++]);
      if (to % 2 == 1) best = longer(best, longest_[--to]);
    }
    return best;
  }

  std::vector<Interval> waits_;  // disjoint intervals, ascending
  std::vector<size_t> longest_;  // a tree over the waits: node i has the longer of nodes 2i, 2i + 1
};

// This process's knowledge of its drivers, by their peers' numbers.
struct Known {
  std::map<uint32_t, Waits> waits;
  std::vector<uint64_t> contexts;  // ascending
};

Known knownOf(const TraceRecords& trace) {
  std::map<uint32_t, std::vector<Interval>> waits;
  Known known;
  for (const Record& record : trace.records) {
    known.contexts.push_back(record.context);
    if (record.peer == 0 || record.kind != Record::SLICE || !isSlice(record)) continue;
    waits[record.peer].push_back({record.begin, record.openEnded != 0 ? trace.end : record.end});
  }
  for (auto& [peer, all] : waits) known.waits.emplace(peer, std::move(all));
  std::ranges::sort(known.contexts);
  known.contexts.erase(std::unique(known.contexts.begin(), known.contexts.end()),
                       known.contexts.end());
  return known;
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

// Collects the slices of a process by thread.
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
    // If slices have the same time, the one of the higher layer is the outer one. Records are
    // ordered by their ends, so the outer one comes later.
    std::ranges::reverse(slices);
    std::ranges::stable_sort(slices, [](const Slice& a, const Slice& b) {
      return std::tie(a.begin, b.end) < std::tie(b.begin, a.end);
    });
    std::vector<size_t> open;
    size_t kept = 0;
    for (size_t i = 0; i < slices.size(); ++i) {
      while (!open.empty() && slices[open.back()].end <= slices[i].begin &&
             slices[open.back()].end < slices[i].end) {
        open.pop_back();
      }
      if (open.size() == kMostNested) {
        ++process_->rejected;
        continue;
      }
      if (kept != i) slices[kept] = std::move(slices[i]);
      Slice& slice = slices[kept];
      if (!open.empty()) {
        const Slice& outer = slices[open.back()];
        slice.parent = open.back();
        if (slice.end > outer.end) {
          slice.end = outer.end;
          ++process_->cut;
        }
      }
      inherit(slices, &slice);
      open.push_back(kept++);
    }
    slices.resize(kept);
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

ProcessTimeline driverTimeline(const DriverRecords& driver, const Known& known) {
  ProcessTimeline process;
  process.name = driver.name;
  process.processId = driver.processId;
  process.isDriver = true;
  process.status = driver.status;
  process.lost = driver.lost;
  const auto found = known.waits.find(driver.peer);
  const Waits none;
  const Waits& waits = found == known.waits.end() ? none : found->second;
  ProcessMaker maker(&process);
  for (const Record& record : driver.records) {
    if (record.kind == Record::THREAD) {
      maker.name(record);
      continue;
    }
    const bool usable = record.kind == Record::SLICE && isSlice(record) && mayBeDrivers(record);
    const auto possible = usable ? waits.within(record) : std::nullopt;
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
    if (!std::ranges::binary_search(known.contexts, slice.context)) slice.context = 0;
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
  const Known known = knownOf(records);
  std::set<int64_t> taken = {processId};
  for (const DriverRecords& driver : records.drivers) {
    ProcessTimeline& process = timeline.processes.emplace_back(driverTimeline(driver, known));
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
