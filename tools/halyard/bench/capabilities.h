// A driver's capability figures: what reference workloads take on its device, relative to the
// runtime's CPU device (nnapi-reference). Thread safety: none; one measurement at a time.
// Ownership: results own their data.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "halyard/driver/status.h"
#include "workloads/workloads.h"

namespace halyard::cli {

// What a workload has taken on both devices.
struct WorkloadFigures {
  std::string name;
  workloads::Figure figure = workloads::Figure::FLOAT32;
  double deviceMs = 0;  // median time of an execution
  double referenceMs = 0;
  double execTime = 0;    // their ratio, the median of those in turns
  double powerUsage = 0;  // ratio of energy, or of processor time, for an execution
};

// The member "capabilities" of a file for loadCapabilities (halyard/driver/capabilities_file.h):
// each figure is the geometric mean of the workloads that are for it; what has none is 1.
nlohmann::json capabilitiesFrom(std::span<const WorkloadFigures> measured);

// Runs the reference workloads of these names, or all, on the device (its whole name) and on
// nnapi-reference in turns, each at least `seconds` on either. docs/benchmark.md describes the
// document. Workloads that the device does not take are listed with the reason; OP_FAILED when it
// takes none.
Result<nlohmann::json> measureCapabilities(const std::string& device, double seconds,
                                           const std::vector<std::string>& names);

// The document for a terminal.
std::string capabilitiesText(const nlohmann::json& document);

}  // namespace halyard::cli
