// The code counts each slice once, at its place. It subtracts the slice from the slices around it
// if it is not part of their phase.
#include "trace/accounting.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>

namespace halyard::trace {
namespace {

using Table = std::array<PhaseTimes, kLayers>;

struct Range {
  uint64_t begin = 0;
  uint64_t end = UINT64_MAX;
  // Returns the slices that begin within it. A trace may have as many runs as slices, so each run
  // looks only at its own.
  std::span<const Slice> of(const ThreadTimeline& thread) const {
    const auto first = std::ranges::lower_bound(thread.slices, begin, {}, &Slice::begin);
    return {first, std::ranges::lower_bound(first, thread.slices.end(), end, {}, &Slice::begin)};
  }
};

constexpr std::string_view kStart = "ANeuralNetworksExecution_startCompute";
constexpr std::string_view kWait = "ANeuralNetworksEvent_wait";

bool isSubtracted(const std::vector<Slice>& slices, const Slice& slice) {
  if (slice.mark.variant == Variant::SUBTRACT) return true;
  return slice.phase == Phase::INITIALIZATION && slice.parent != Slice::kNone &&
         slices[slice.parent].phase != Phase::INITIALIZATION;
}

const Slice* outerOf(const std::vector<Slice>& slices, const Slice& slice) {
  return slice.parent == Slice::kNone ? nullptr : &slices[slice.parent];
}

const Slice* outerOf(const std::vector<Slice>& slices, const Slice& slice, Layer layer) {
  const Slice* outer = outerOf(slices, slice);
  while (outer != nullptr && outer->layer != layer) outer = outerOf(slices, *outer);
  return outer;
}

class Counter {
 public:
  Counter(const Range& range, bool asynchronous) : range_(range), asynchronous_(asynchronous) {}

  void count(const ProcessTimeline& process) {
    for (const ThreadTimeline& thread : process.threads) {
      for (const Slice& slice : range_.of(thread)) {
        if (slice.layer != Layer::IGNORED) count(thread.slices, slice, process.isDriver);
      }
    }
  }

  Table table = {};

 private:
  int64_t& at(Layer layer, Phase phase) {
    return table[static_cast<size_t>(layer)][static_cast<size_t>(phase)];
  }

  // The phases for which the slice counts; none for a detail.
  struct Places {
    std::optional<Phase> phase;
    bool alsoExecution = false;  // a part of EXECUTION without an EXECUTION around it
  };
  Places placesOf(const std::vector<Slice>& slices, const Slice& slice) const {
    const Slice* const outer = outerOf(slices, slice, slice.layer);
    if (isSubtracted(slices, slice)) {
      return {slice.phase, isOfExecution(slice.phase) && slice.phase != Phase::EXECUTION};
    }
    if (outer != nullptr && outer->phase == slice.phase) return {};
    if (isLeftToEvents(slice)) return {};
    const bool isPart = isOfExecution(slice.phase) && slice.phase != Phase::EXECUTION;
    return {slice.phase, isPart && (outer == nullptr || !isOfExecution(outer->phase))};
  }

  // The runtime's part of an asynchronous execution counts from its start to the wait.
  bool isLeftToEvents(const Slice& slice) const {
    if (!asynchronous_ || slice.layer != Layer::RUNTIME || !isOfExecution(slice.phase))
      return false;
    const std::string_view detail = slice.mark.detail;
    return detail.starts_with(kStart) || detail == kWait ||
           (slice.parent == Slice::kNone && !detail.starts_with("ANeuralNetworks"));
  }

  void count(const std::vector<Slice>& slices, const Slice& slice, bool isDriver) {
    const auto time = static_cast<int64_t>(slice.duration());
    const Places places = placesOf(slices, slice);
    if (!places.phase) return;
    at(slice.layer, *places.phase) += time;
    if (places.alsoExecution) at(slice.layer, Phase::EXECUTION) += time;
    if (isSubtracted(slices, slice)) return takeAway(slices, slice, time);
    if (!isDriver && slice.layer == Layer::RUNTIME) moveApplication(slices, slice, time);
  }

  // Subtracts the time from the slices around this one, once per layer. It stops after the next
  // slice that is itself subtracted from those around it.
  void takeAway(const std::vector<Slice>& slices, const Slice& slice, int64_t time) {
    std::array<bool, kLayers> done = {};
    for (const Slice* outer = outerOf(slices, slice); outer != nullptr;
         outer = outerOf(slices, *outer)) {
      const Places places = placesOf(slices, *outer);
      const bool isOuterSubtracted = isSubtracted(slices, *outer);
      if (places.phase) {
        bool& isDone = done[static_cast<size_t>(outer->layer)];
        // Of each layer, it subtracts from the innermost slice that counts, and from the EXECUTION
        // that this slice is part of.
        if (!isDone || *places.phase == Phase::EXECUTION) at(outer->layer, *places.phase) -= time;
        if (places.alsoExecution) at(outer->layer, Phase::EXECUTION) -= time;
        isDone = true;
      }
      if (isOuterSubtracted) return;
    }
  }

  // Moves preparation time that the application counts as another phase.
  void moveApplication(const std::vector<Slice>& slices, const Slice& slice, int64_t time) {
    if (outerOf(slices, slice, Layer::RUNTIME) != nullptr) return;
    const Slice* const outer = outerOf(slices, slice, Layer::APPLICATION);
    if (outer == nullptr || outer->phase == slice.phase) return;
    const Phase around = outer->phase;
    if (around == Phase::OVERALL) return;
    const bool runs =
        isOfExecution(around) || around == Phase::WARMUP || around == Phase::BENCHMARK;
    if (runs && isOfExecution(slice.phase)) return;
    at(Layer::APPLICATION, around) -= time;
    at(Layer::APPLICATION, slice.phase) += time;
  }

  const Range range_;
  const bool asynchronous_;
};

std::vector<const Slice*> slicesOf(const ProcessTimeline& process, std::string_view prefix,
                                   const Range& range) {
  std::vector<const Slice*> found;
  for (const ThreadTimeline& thread : process.threads) {
    for (const Slice& slice : range.of(thread)) {
      if (slice.mark.detail.starts_with(prefix)) found.push_back(&slice);
    }
  }
  std::ranges::sort(found, {}, &Slice::begin);
  return found;
}

// Sums the times from the starts to the waits, paired in order.
int64_t asynchronousTime(const std::vector<const Slice*>& starts,
                         const std::vector<const Slice*>& waits) {
  int64_t sum = 0;
  for (size_t i = 0; i < starts.size(); ++i) {
    const bool waited = i < waits.size() && waits[i]->end >= starts[i]->begin;
    sum += static_cast<int64_t>((waited ? waits[i]->end : starts[i]->end) - starts[i]->begin);
  }
  return sum;
}

Table tableOf(const Timeline& timeline, const Range& range) {
  const ProcessTimeline& own = timeline.processes.front();
  const auto starts = slicesOf(own, kStart, range);
  Counter counter(range, !starts.empty());
  for (const ProcessTimeline& process : timeline.processes) counter.count(process);
  if (!starts.empty()) {
    counter.table[static_cast<size_t>(Layer::RUNTIME)][static_cast<size_t>(Phase::EXECUTION)] +=
        asynchronousTime(starts, slicesOf(own, kWait, range));
  }
  return counter.table;
}

uint64_t executionsIn(const ProcessTimeline& own, const Range& range) {
  const size_t created = slicesOf(own, "ANeuralNetworksExecution_create", range).size();
  if (created > 0) return created;
  uint64_t marks = 0;
  for (const ThreadTimeline& thread : own.threads) {
    for (const Slice& slice : range.of(thread)) {
      const Slice* const outer = outerOf(thread.slices, slice);
      const bool isOutermost = outer == nullptr || outer->phase != Phase::EXECUTION;
      if (slice.layer == Layer::APPLICATION && slice.phase == Phase::EXECUTION && isOutermost) {
        ++marks;
      }
    }
  }
  return marks;
}

std::vector<const Slice*> applicationSlices(const ProcessTimeline& own, Phase phase,
                                            const Range& range) {
  std::vector<const Slice*> found;
  for (const ThreadTimeline& thread : own.threads) {
    for (const Slice& slice : range.of(thread)) {
      if (slice.layer == Layer::APPLICATION && slice.phase == phase) found.push_back(&slice);
    }
  }
  std::ranges::sort(found, {}, &Slice::begin);
  return found;
}

Accounting accountOf(const Timeline& timeline, const Range& range) {
  const ProcessTimeline& own = timeline.processes.front();
  Accounting result;
  result.total = tableOf(timeline, range);
  result.executions = executionsIn(own, range);
  result.self = result.total;
  const auto subtract = [&](Layer upper, Layer lower) {
    for (size_t phase = 0; phase < kPhases; ++phase) {
      int64_t& self = result.self[static_cast<size_t>(upper)][phase];
      self -= result.total[static_cast<size_t>(lower)][phase];
      // A layer may have parts of EXECUTION where the layer above has only the whole.
      if (phase >= static_cast<size_t>(Phase::INPUTS_AND_OUTPUTS))
        self = std::max<int64_t>(self, 0);
    }
  };
  subtract(Layer::APPLICATION, Layer::RUNTIME);
  subtract(Layer::RUNTIME, Layer::IPC);
  subtract(Layer::RUNTIME, Layer::CPU);
  subtract(Layer::IPC, Layer::DRIVER);
  const auto benchmarks = applicationSlices(own, Phase::BENCHMARK, range);
  if (benchmarks.empty() || applicationSlices(own, Phase::WARMUP, range).empty()) {
    result.counted = result.total;
    result.countedExecutions = result.executions;
    return result;
  }
  const Range counted{benchmarks.front()->begin, benchmarks.back()->end};
  result.counted = tableOf(timeline, counted);
  result.countedExecutions = executionsIn(own, counted);
  return result;
}

}  // namespace

std::vector<Accounting> account(const Timeline& timeline) {
  std::vector<Accounting> runs;
  if (timeline.processes.empty()) return runs;
  const auto marks = applicationSlices(timeline.processes.front(), Phase::OVERALL, Range());
  for (size_t i = 0; i < marks.size(); ++i) {
    if (marks[i]->parent != Slice::kNone) continue;
    Range range{marks[i]->begin, UINT64_MAX};
    for (size_t next = i + 1; next < marks.size(); ++next) {
      if (marks[next]->parent != Slice::kNone) continue;
      range.end = marks[next]->begin;
      break;
    }
    runs.push_back(accountOf(timeline, range));
    runs.back().startingMark = marks[i]->mark.detail;
  }
  if (runs.empty()) runs.push_back(accountOf(timeline, Range()));
  return runs;
}

}  // namespace halyard::trace
