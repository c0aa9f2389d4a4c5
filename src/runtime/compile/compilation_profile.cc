// Assigns the slices of a timeline to the operations and partitions of a plan.
#include "runtime/compile/compilation_profile.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "runtime/partition/work_estimate.h"
#include "trace/accounting.h"
#include "trace/trace_context.h"

namespace halyard::runtime {
namespace {

using Json = nlohmann::json;
using trace::Layer;
using trace::Phase;
using trace::Slice;

Json medianOf(std::vector<uint64_t> values) {
  if (values.empty()) return nullptr;
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

uint64_t sumOf(const std::vector<uint64_t>& values) {
  uint64_t sum = 0;
  for (const uint64_t value : values) sum += value;
  return sum;
}

// A device, and the process in which it computed.
struct DeviceProcess {
  std::string device;
  int64_t process = 0;
  auto operator<=>(const DeviceProcess&) const = default;
};

struct PartitionTimes {
  std::vector<uint64_t> calls;       // duration of each call by the runtime
  std::vector<uint64_t> device;      // duration of each execution on the device
  std::vector<uint64_t> operations;  // sum of the operations of each execution
  int64_t process = 0;
};

class Profile {
 public:
  Profile(const Compilation& compilation, const trace::Timeline& timeline)
      : compilation_(compilation),
        plan_(compilation.plan()),
        timeline_(timeline),
        partitions_(plan_.steps.size()) {
    for (const trace::ProcessTimeline& process : timeline.processes) {
      for (const trace::ThreadTimeline& thread : process.threads) take(process, thread);
    }
  }

  Json operations() const {
    uint64_t all = 0;
    for (const auto& [key, durations] : times_) all += sumOf(durations);
    Json list = Json::array();
    const std::vector<Operation>& operations = compilation_.model().main.operations;
    std::vector<uint32_t> byApplication(operations.size());
    for (uint32_t i = 0; i < operations.size(); ++i) {
      byApplication[compilation_.applicationOrder()[i]] = i;
    }
    for (uint32_t index = 0; index < operations.size(); ++index) {
      addOperation(index, byApplication[index], all, &list);
    }
    return list;
  }

  Json partitions() const {
    Json list = Json::array();
    for (size_t i = 0; i < partitions_.size(); ++i) {
      const PartitionTimes& times = partitions_[i];
      const ComputeStep& step = plan_.steps[i];
      const Json whole = medianOf(times.calls);
      const Json device = medianOf(times.device);
      Json overhead;
      if (!whole.is_null() && !device.is_null()) {
        overhead = whole.get<int64_t>() - device.get<int64_t>();
      }
      list.push_back({{"index", i},
                      {"device", step.device->name()},
                      {"process", times.process},
                      {"operations", step.operations.size()},
                      {"count", times.calls.size()},
                      {"median_ns", whole},
                      {"device_median_ns", device},
                      {"operations_median_ns", medianOf(times.operations)},
                      {"overhead_median_ns", overhead}});
    }
    return list;
  }

 private:
  bool isOurs(const Slice& slice) const {
    return slice.context != 0 && traceCompilation(slice.context) == compilation_.id();
  }

  // The operation of the main subgraph to which the slice belongs, as the application's index.
  std::optional<uint32_t> operationOf(const Slice& slice) const {
    if (slice.operation < 0 || slice.subgraph != 0) return std::nullopt;
    const auto n = static_cast<size_t>(slice.operation);
    const std::vector<uint32_t>& order = compilation_.applicationOrder();
    const std::optional<size_t> index = traceStep(slice.context);
    if (!index || plan_.simple) return n < order.size() ? std::optional(order[n]) : std::nullopt;
    if (*index >= plan_.steps.size()) return std::nullopt;
    const ComputeStep& step = plan_.steps[*index];
    if (step.subgraph != kMainSubgraph || n >= step.operations.size()) return std::nullopt;
    return order[step.operations[n]];
  }

  // In this process, an outer slice of the runtime names the device (PlanRunner::stepText). On a
  // thread of fenced executions there is no such slice. Then the name comes from the plan.
  std::string deviceName(const trace::ProcessTimeline& process, const trace::ThreadTimeline& thread,
                         const Slice& slice) const {
    constexpr std::string_view kDevice = "device ";
    if (process.isDriver) return process.name;
    for (size_t at = slice.parent; at != Slice::kNone; at = thread.slices[at].parent) {
      const std::string& detail = thread.slices[at].mark.detail;
      const size_t place = detail.find(kDevice);
      if (thread.slices[at].layer != Layer::RUNTIME || place == std::string::npos) continue;
      return detail.substr(place + kDevice.size());
    }
    const std::optional<size_t> step = traceStep(slice.context);
    return plan_.steps[step ? std::min(*step, plan_.steps.size() - 1) : 0].device->name();
  }

  void take(const trace::ProcessTimeline& process, const trace::ThreadTimeline& thread) {
    std::map<size_t, uint64_t> sums;  // durations of operations, by the slice of their execution
    for (size_t i = 0; i < thread.slices.size(); ++i) {
      const Slice& slice = thread.slices[i];
      if (!isOurs(slice)) continue;
      const Slice* const outer =
          slice.parent == Slice::kNone ? nullptr : &thread.slices[slice.parent];
      if (slice.operation >= 0 && slice.phase == Phase::COMPUTATION) {
        // In the body of a loop, or in a branch.
        if (outer != nullptr && outer->operation >= 0) continue;
        if (const std::optional<uint32_t> index = operationOf(slice)) {
          times_[{*index, {deviceName(process, thread, slice), process.processId}}].push_back(
              slice.duration());
        }
        if (const size_t execution = executionAround(thread.slices, i); execution != Slice::kNone) {
          sums[execution] += slice.duration();
        }
      } else {
        takeCall(process, slice, outer);
        if (isDevicesWork(slice, outer)) sums.try_emplace(i, 0);
      }
    }
    for (const auto& [execution, sum] : sums) {
      const std::optional<size_t> index = traceStep(thread.slices[execution].context);
      if (index && *index < partitions_.size() && sum > 0) {
        partitions_[*index].operations.push_back(sum);
      }
    }
  }

  static bool isDevicesWork(const Slice& slice, const Slice* outer) {
    const bool isDevices = slice.layer == Layer::DRIVER || slice.layer == Layer::CPU;
    return isDevices && slice.phase == Phase::EXECUTION &&
           (outer == nullptr || outer->layer != slice.layer);
  }

  static size_t executionAround(const std::vector<Slice>& slices, size_t i) {
    for (size_t at = slices[i].parent; at != Slice::kNone; at = slices[at].parent) {
      const size_t parent = slices[at].parent;
      if (isDevicesWork(slices[at], parent == Slice::kNone ? nullptr : &slices[parent])) return at;
    }
    return Slice::kNone;
  }

  void takeCall(const trace::ProcessTimeline& process, const Slice& slice, const Slice* outer) {
    const std::optional<size_t> index = traceStep(slice.context);
    if (!index || *index >= partitions_.size()) return;
    PartitionTimes& times = partitions_[*index];
    if (isDevicesWork(slice, outer)) {
      times.device.push_back(slice.duration());
      times.process = process.processId;
      return;
    }
    const bool isFirst = outer == nullptr || outer->context != slice.context;
    if (slice.layer == Layer::RUNTIME && slice.phase == Phase::EXECUTION && isFirst) {
      times.calls.push_back(slice.duration());
      if (times.process == 0) times.process = process.processId;
    }
  }

  // The step of the plan that has the operation of the main subgraph.
  std::optional<size_t> stepOf(uint32_t operation) const {
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      const ComputeStep& step = plan_.steps[i];
      if (step.subgraph != kMainSubgraph) continue;
      if (std::ranges::find(step.operations, operation) != step.operations.end()) return i;
    }
    return std::nullopt;
  }

  void addOperation(uint32_t index, uint32_t inModel, uint64_t all, Json* list) const {
    const Subgraph& main = compilation_.model().main;
    const Operation& operation = main.operations[inModel];
    const std::optional<size_t> step = stepOf(inModel);
    const bool isVendors = isExtension(operation.type);
    const OperationWork work = isVendors ? OperationWork() : workOf(main, operation);
    const Json base = {
        {"index", index},
        {"type", operationTypeName(operation.type)},
        {"partition", step ? Json(*step) : Json()},
        {"bytes", isVendors || work.guessed ? Json() : Json(work.bytes)},
        {"flop", work.products > 0 && !work.guessed ? Json(2 * work.products) : Json()},
        {"sizes_unknown", work.guessed}};
    bool found = false;
    for (auto it = times_.lower_bound({index, DeviceProcess{"", INT64_MIN}});
         it != times_.end() && it->first.first == index; ++it) {
      const auto& [device, process] = it->first.second;
      const std::vector<uint64_t>& durations = it->second;
      const uint64_t total = sumOf(durations);
      Json entry = base;
      entry["device"] = device;
      entry["process"] = process;
      entry["count"] = durations.size();
      entry["median_ns"] = medianOf(durations);
      entry["min_ns"] = std::ranges::min(durations);
      entry["total_ns"] = total;
      entry["share"] = all == 0 ? 0 : static_cast<double>(total) / static_cast<double>(all);
      list->push_back(std::move(entry));
      found = true;
    }
    if (found) return;
    Json entry = base;
    entry["device"] = step ? plan_.steps[*step].device->name() : "";
    for (const char* name : {"process", "median_ns", "min_ns", "total_ns", "share"}) {
      entry[name] = nullptr;
    }
    entry["count"] = 0;
    list->push_back(std::move(entry));
  }

  const Compilation& compilation_;
  const Plan& plan_;
  const trace::Timeline& timeline_;
  std::vector<PartitionTimes> partitions_;
  // By the application's index.
  std::map<std::pair<uint32_t, DeviceProcess>, std::vector<uint64_t>> times_;
};

Json phasesOf(const trace::Timeline& timeline) {
  Json runs = Json::array();
  for (const trace::Accounting& run : trace::account(timeline)) {
    Json layers = Json::object();
    for (size_t layer = 0; layer < trace::kLayers; ++layer) {
      Json phases = Json::object();
      for (size_t phase = 0; phase < trace::kPhases; ++phase) {
        if (run.total[layer][phase] == 0) continue;
        phases[std::string(trace::phaseCode(static_cast<Phase>(phase)))] = {
            {"total_ns", run.total[layer][phase]},
            {"self_ns", run.self[layer][phase]},
            {"counted_ns", run.counted[layer][phase]}};
      }
      if (phases.empty()) continue;
      layers[std::string(trace::layerCode(static_cast<Layer>(layer)))] = std::move(phases);
    }
    runs.push_back({{"starting_mark", run.startingMark},
                    {"executions", run.executions},
                    {"counted_executions", run.countedExecutions},
                    {"layers", std::move(layers)}});
  }
  return runs;
}

Json processesOf(const trace::Timeline& timeline) {
  Json list = Json::array();
  for (const trace::ProcessTimeline& process : timeline.processes) {
    size_t records = 0;
    for (const trace::ThreadTimeline& thread : process.threads) records += thread.slices.size();
    list.push_back({{"process", process.processId},
                    {"name", process.name},
                    {"driver", process.isDriver},
                    {"records", records},
                    {"lost", process.lost},
                    {"rejected", process.rejected},
                    {"cut", process.cut},
                    {"problem", process.status.ok() ? Json() : Json(process.status.toString())}});
  }
  return list;
}

}  // namespace

std::string profileJson(const Compilation& compilation, const trace::Timeline& timeline,
                        bool running) {
  const Profile profile(compilation, timeline);
  const Json json = {{"version", 1},
                     {"running", running},
                     {"duration_ns", timeline.end - timeline.begin},
                     {"operations", profile.operations()},
                     {"partitions", profile.partitions()},
                     {"phases", phasesOf(timeline)},
                     {"processes", processesOf(timeline)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace halyard::runtime
