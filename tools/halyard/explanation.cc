#include "tools/halyard/explanation.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "tools/halyard/terminal.h"
#include "tools/halyard/text_table.h"

namespace halyard::cli {
namespace {

using Json = nlohmann::json;

std::string durationText(double nanoseconds) {
  if (nanoseconds >= 1e9) return fmt::format("{:.3g} s", nanoseconds / 1e9);
  if (nanoseconds >= 1e6) return fmt::format("{:.3g} ms", nanoseconds / 1e6);
  return fmt::format("{:.3g} us", nanoseconds / 1e3);
}

// "#0-#3, #7"; a long list shows only its first ranges.
std::string rangesText(std::vector<uint32_t> indexes, size_t most) {
  std::sort(indexes.begin(), indexes.end());
  std::string text;
  size_t ranges = 0;
  for (size_t i = 0; i < indexes.size(); ++ranges) {
    size_t end = i + 1;
    while (end < indexes.size() && indexes[end] == indexes[end - 1] + 1) ++end;
    if (ranges == most) return fmt::format("{}, ... ({} in all)", text, indexes.size());
    if (!text.empty()) text += ", ";
    text += end - i == 1 ? fmt::format("#{}", indexes[i])
                         : fmt::format("#{}-#{}", indexes[i], indexes[end - 1]);
    i = end;
  }
  return text;
}

std::string bytesText(uint64_t bytes) {
  if (bytes >= 1000000) return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
  return fmt::format("{} B", bytes);
}

// The cache of one partition, or the sums over several partitions.
std::string cacheLine(const Json& cache) {
  std::string text = cache.at("state").get<std::string>();
  const uint64_t read = cache.at("bytes_read").get<uint64_t>();
  const uint64_t written = cache.at("bytes_written").get<uint64_t>();
  if (read != 0) text += fmt::format(", {} read", bytesText(read));
  if (written != 0) text += fmt::format(", {} written", bytesText(written));
  const std::string reason = printableMember(cache, "reason");
  if (!reason.empty()) text += ", " + reason;
  std::string stages;
  for (const char* stage : {"key", "open", "load", "compile", "save"}) {
    const double took = cache.at(fmt::format("{}_ns", stage)).get<double>();
    if (took == 0) continue;
    stages += fmt::format("{} {} {}", stages.empty() ? ":" : ",", stage, durationText(took));
  }
  return text + stages;
}

class Explanation {
 public:
  Explanation(const Json& document, const ExplanationOptions& options)
      : operations_(document.at("operations")),
        partitions_(document.at("partitions")),
        events_(document.at("events")),
        shadow_(document.value("shadow", Json::object())),
        allowsFloat16_(document.value("allow_fp16", false)),
        options_(options) {}

  std::string text() {
    return summary() + (allowsFloat16_ ? "fp16    float32 may be computed as float16\n" : "") +
           partitions() + cache() + shadow() +
           (options_.everyOperation ? eachOperation() : std::string()) + reasons() + events();
  }

 private:
  static constexpr size_t kMostRanges = 6;

  static double predicted(const Json& partition) {
    const Json& cost = partition.at("predicted_ns");
    return cost.at("compute").get<double>() + cost.at("boundary").get<double>();
  }

  std::string summary() const {
    const bool isNever = std::ranges::any_of(events_, [](const Json& event) {
      return event.at("kind").get<std::string>() == "NEVER_COMPUTED";
    });
    if (isNever) return "plan    none: every execution will fail\n";
    if (partitions_.empty()) return "plan    none\n";
    double compute = 0;
    double boundary = 0;
    for (const Json& partition : partitions_) {
      compute += partition.at("predicted_ns").at("compute").get<double>();
      boundary += partition.at("predicted_ns").at("boundary").get<double>();
    }
    return fmt::format("plan    {} partition{}, predicted {}: {} computing, {} at their borders\n",
                       partitions_.size(), partitions_.size() == 1 ? "" : "s",
                       durationText(compute + boundary), durationText(compute),
                       durationText(boundary));
  }

  std::string partitions() const {
    if (partitions_.empty()) return {};
    std::vector<TableRow> rows = {
        {"PARTITION", "DEVICE", "OPERATIONS", "PREDICTED", "MEASURED", "IN", "OUT", "COPIED"}};
    for (size_t i = 0; i < partitions_.size(); ++i) {
      const Json& partition = partitions_[i];
      const std::string within = printableMember(partition, "within");
      const std::string operations =
          within.empty()
              ? rangesText(partition.at("operations").get<std::vector<uint32_t>>(), kMostRanges)
              : fmt::format("{} in {}", partition.at("operation_count").get<uint32_t>(), within);
      const Json& measured = partition.at("measured_mean_ns");
      const Json& copied = partition.at("copied_bytes_mean");
      rows.push_back({std::to_string(i), printableMember(partition, "device"), operations,
                      durationText(predicted(partition)) +
                          (partition.at("sizes_unknown").get<bool>() ? " at least" : ""),
                      measured.is_null() ? "-" : durationText(measured.get<double>()),
                      fmt::format("{} B", partition.at("bytes_in").get<uint64_t>()),
                      fmt::format("{} B", partition.at("bytes_out").get<uint64_t>()),
                      copied.is_null() ? "-" : fmt::format("{:.0f} B", copied.get<double>())});
    }
    return "\n" + alignedRows(rows);
  }

  std::string shadow() const {
    const auto interval = shadow_.value("interval", uint32_t{0});
    if (interval == 0) return {};
    const std::string off = printableMember(shadow_, "off");
    if (!off.empty()) return fmt::format("\nshadow  nothing is verified: {}\n", off);
    std::string text = fmt::format(
        "\nshadow  1 execution in {}: {} verified, {} of them wrong, largest error {:.3g}\n",
        interval, shadow_.at("verified").get<uint64_t>(), shadow_.at("failed").get<uint64_t>(),
        shadow_.at("largest_absolute_error").get<double>());
    for (const Json& skipped : shadow_.at("skipped")) {
      text += fmt::format("        {} not verified: {}\n", skipped.at("count").get<uint64_t>(),
                          printableMember(skipped, "reason"));
    }
    return text;
  }

  // Groups partitions whose lines are equal.
  std::string cache() const {
    std::vector<std::pair<std::string, std::vector<uint32_t>>> lines;
    for (uint32_t i = 0; i < partitions_.size(); ++i) {
      if (!partitions_[i].contains("cache")) return {};
      const std::string text = cacheLine(partitions_[i].at("cache"));
      const auto same = std::ranges::find(lines, text, [](const auto& line) { return line.first; });
      if (same == lines.end()) {
        lines.push_back({text, {i}});
      } else {
        same->second.push_back(i);
      }
    }
    std::string text;
    for (const auto& [line, of] : lines) {
      text += fmt::format("{}  {}: {}\n", text.empty() ? "\ncache of partitions:\n" : "",
                          rangesText(of, kMostRanges), line);
    }
    return text;
  }

  std::string eachOperation() const {
    std::vector<TableRow> rows = {{"OPERATION", "TYPE", "DEVICE", "PARTITION"}};
    for (const Json& operation : operations_) {
      const int partition = operation.at("partition").get<int>();
      std::string device = printableMember(operation, "device");
      if (operation.at("interpreted").get<bool>()) device = "the runtime";
      rows.push_back({fmt::format("#{}", operation.at("index").get<uint32_t>()),
                      printableMember(operation, "type"), device.empty() ? "-" : device,
                      partition < 0 ? "-" : std::to_string(partition)});
    }
    return "\n" + alignedRows(rows);
  }

  // A reason without its figures: operations of different cost have equal kinds.
  static std::string kindOf(const std::string& reason) {
    std::string kind;
    for (const char c : reason) {
      const bool figure = (c >= '0' && c <= '9') || c == '.';
      if (!figure) kind += c;
    }
    for (const std::string_view unit : {" ns", " us", " ms"}) {
      for (size_t at = kind.find(unit); at != std::string::npos; at = kind.find(unit)) {
        kind.replace(at, unit.size(), " s");
      }
    }
    return kind;
  }

  // By device, in the order of the reports: each reason with its operations.
  std::string reasons() const {
    struct Reason {
      std::string kind;
      std::string text;  // of the first operation
      std::vector<uint32_t> operations;
      bool differs = false;  // whether other operations have other figures
    };
    struct Device {
      std::string name;
      std::vector<Reason> reasons;
    };
    std::vector<Device> devices;
    for (const Json& operation : operations_) {
      for (const Json& other : operation.at("others")) {
        const std::string name = printableMember(other, "device");
        auto device = std::find_if(devices.begin(), devices.end(),
                                   [&](const Device& each) { return each.name == name; });
        if (device == devices.end()) device = devices.insert(device, {name, {}});
        const std::string reason = printableMember(other, "reason");
        const std::string kind = options_.everyOperation ? reason : kindOf(reason);
        auto known = std::find_if(device->reasons.begin(), device->reasons.end(),
                                  [&](const Reason& each) { return each.kind == kind; });
        if (known == device->reasons.end()) {
          known = device->reasons.insert(known, {kind, reason, {}, false});
        }
        known->operations.push_back(operation.at("index").get<uint32_t>());
        known->differs = known->differs || known->text != reason;
      }
    }
    std::string text;
    for (const Device& device : devices) {
      text += fmt::format("\nnot on {}:\n", device.name);
      const size_t most = options_.everyOperation ? device.reasons.size() : options_.mostReasons;
      for (size_t i = 0; i < std::min(most, device.reasons.size()); ++i) {
        const Reason& reason = device.reasons[i];
        text += fmt::format("  {}: {}{}\n", rangesText(reason.operations, kMostRanges), reason.text,
                            reason.differs ? ", the others alike" : "");
      }
      if (most < device.reasons.size()) {
        text += fmt::format("  ... and {} more reasons; --all has them\n",
                            device.reasons.size() - most);
      }
    }
    return text;
  }

  std::string events() const {
    std::string text;
    for (const Json& event : events_) {
      if (text.empty()) text = "\nwhat went another way:\n";
      text += fmt::format("  {}", printableMember(event, "kind"));
      const std::string device = printableMember(event, "device");
      const std::string target = printableMember(event, "target");
      if (!device.empty()) text += " on " + device;
      if (!target.empty()) text += ", now " + target;
      const auto operations = event.at("operations").get<std::vector<uint32_t>>();
      if (!operations.empty()) text += ", " + rangesText(operations, kMostRanges);
      const auto count = event.at("count").get<uint64_t>();
      if (count > 1) text += fmt::format(", {} times", count);
      text += fmt::format(": {}\n", printableMember(event, "cause"));
    }
    return text;
  }

  const Json& operations_;
  const Json& partitions_;
  const Json& events_;
  const Json shadow_;  // empty when the report has none
  const bool allowsFloat16_;
  const ExplanationOptions options_;
};

}  // namespace

Result<std::string> devicesText(std::string_view json) {
  try {
    const Json document = Json::parse(json);
    std::vector<std::pair<std::string, std::vector<uint32_t>>> devices;
    for (const Json& partition : document.at("partitions")) {
      const std::string name = printableMember(partition, "device");
      auto device = std::find_if(devices.begin(), devices.end(),
                                 [&](const auto& each) { return each.first == name; });
      if (device == devices.end()) device = devices.insert(device, {name, {}});
      for (const Json& operation : partition.at("operations")) {
        device->second.push_back(operation.get<uint32_t>());
      }
    }
    std::string text;
    for (auto& [name, operations] : devices) {
      std::sort(operations.begin(), operations.end());
      // Each part of an IF or WHILE names that operation.
      operations.erase(std::unique(operations.begin(), operations.end()), operations.end());
      constexpr size_t kMostRanges = 4;
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name,
                          rangesText(operations, kMostRanges));
    }
    return text;
  } catch (const Json::exception& error) {
    return opFailed("the runtime's report is not what was expected: {}", error.what());
  }
}

Result<std::string> cacheText(std::string_view json) {
  try {
    const Json document = Json::parse(json);
    const Json& partitions = document.at("partitions");
    // One line for all partitions: the best state among them, with the sums of its partitions.
    Json sum;
    size_t alike = 0;
    for (const std::string_view state : {"hit", "miss", "off"}) {
      for (const Json& partition : partitions) {
        const Json& cache = partition.at("cache");
        if (cache.at("state").get<std::string>() != state) continue;
        if (++alike == 1) {
          sum = cache;
          continue;
        }
        for (const auto& [key, value] : cache.items()) {
          if (value.is_number()) sum[key] = sum.at(key).get<double>() + value.get<double>();
        }
      }
      if (alike != 0) break;
    }
    if (alike == 0) return std::string("off, there is no plan");
    std::string text = cacheLine(sum);
    if (alike < partitions.size()) {
      const size_t state = sum.at("state").get<std::string>().size();
      text.insert(state, fmt::format(" for {} of {} partitions", alike, partitions.size()));
    }
    return text;
  } catch (const Json::exception& error) {
    return opFailed("the runtime's report is not what was expected: {}", error.what());
  }
}

Result<std::string> explanation(std::string_view json, const ExplanationOptions& options) {
  // The parser and the access by key throw exceptions. No exception leaves this function.
  try {
    return Explanation(Json::parse(json), options).text();
  } catch (const Json::exception& error) {
    return opFailed("the runtime's report is not what was expected: {}", error.what());
  }
}

}  // namespace halyard::cli
