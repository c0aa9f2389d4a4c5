// Renders the list of devices.
#include "tools/halyard/device_table.h"

#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "tools/halyard/terminal.h"
#include "tools/halyard/text_table.h"

namespace halyard::cli {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kNothing = "-";

// The member called `key`, or null.
const Json& member(const Json& object, const char* key) {
  static const Json none;
  if (!object.is_object()) return none;
  const auto it = object.find(key);
  return it == object.end() ? none : *it;
}

std::string cellText(const Json& value) {
  if (const auto* string = value.get_ptr<const Json::string_t*>()) {
    return string->empty() ? std::string(kNothing) : printable(*string);
  }
  if (value.is_number_integer()) return std::to_string(value.get<int64_t>());
  if (value.is_number()) return fmt::format("{:g}", value.get<double>());
  return std::string(kNothing);
}

// The runtime gives the largest float to a driver that declares no figure for a type.
std::string ratioText(const Json& ratio) {
  constexpr double kUnknown = 3e38;
  if (ratio.is_number() && ratio.get<double>() >= kUnknown) return std::string(kNothing);
  return cellText(ratio);
}

// "exec/power" of one entry of the capabilities.
std::string performanceText(const Json& device, const char* kind) {
  const Json& info = member(member(device, "capabilities"), kind);
  return fmt::format("{}/{}", ratioText(member(info, "exec_time")),
                     ratioText(member(info, "power_usage")));
}

std::string listText(const Json& list) {
  std::vector<std::string> parts;
  for (const Json& entry : list.is_array() ? list : Json::array()) parts.push_back(cellText(entry));
  return parts.empty() ? std::string(kNothing) : fmt::format("{}", fmt::join(parts, ", "));
}

// The isolation of each driver that has a process of its own.
std::string isolationText(const Json& devices) {
  std::string result;
  for (const Json& device : devices.is_array() ? devices : Json::array()) {
    const Json& measures = member(device, "isolation");
    if (!measures.is_array() || measures.empty()) continue;
    std::vector<TableRow> rows;
    for (const Json& measure : measures) {
      rows.push_back({"  " + cellText(member(measure, "measure")),
                      cellText(member(measure, "state")), cellText(member(measure, "detail"))});
    }
    result +=
        fmt::format("\nisolation of {}:\n{}", cellText(member(device, "name")), alignedRows(rows));
  }
  return result;
}

}  // namespace

Result<std::string> deviceTable(std::string_view json) {
  const Json document = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object()) return opFailed("the runtime's list of devices is no JSON object");
  std::vector<TableRow> rows = {{"NAME", "TYPE", "HAL", "VERSION", "LEVEL", "FLOAT32", "QUANT8",
                                 "RELAXED", "PROCESS", "MANIFEST", "FEATURES"}};
  const Json& devices = member(document, "devices");
  for (const Json& device : devices.is_array() ? devices : Json::array()) {
    rows.push_back({cellText(member(device, "name")), cellText(member(device, "type")),
                    cellText(member(device, "hal_version")), cellText(member(device, "version")),
                    cellText(member(device, "feature_level")), performanceText(device, "float32"),
                    performanceText(device, "quant8"), performanceText(device, "relaxed"),
                    cellText(member(device, "process_id")), cellText(member(device, "manifest")),
                    listText(member(device, "features"))});
  }
  std::string result = alignedRows(rows);
  result += isolationText(devices);
  const Json& problems = member(document, "problems");
  if (problems.is_array() && !problems.empty()) {
    result += "\nmanifests that could not be used:\n";
    for (const Json& problem : problems) {
      result += fmt::format("  {}: {}\n", cellText(member(problem, "manifest")),
                            cellText(member(problem, "reason")));
    }
  }
  return result;
}

}  // namespace halyard::cli
