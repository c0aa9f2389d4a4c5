// Measures a driver's capability figures: the cost of reference workloads on its device, relative
// to the runtime's CPU device (nnapi-reference). Thread safety: none; one measurement at a time.
// Ownership: results own their data.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "halyard/driver/status.h"
#include "workloads/workloads.h"

namespace halyard::cli {

// The cost of a workload on both devices.
struct WorkloadFigures {
  std::string name;
  workloads::Figure figure = workloads::Figure::FLOAT32;
  double deviceMs = 0;  // median time of an execution
  double referenceMs = 0;
  double execTime = 0;    // ratio of the times; the median over all turns
  double powerUsage = 0;  // ratio of the energy, or of the processor time, of an execution
};

// The member "capabilities" of a file for loadCapabilities (halyard/driver/capabilities_file.h).
// Each figure is the geometric mean of its workloads. A figure without workloads is 1.
nlohmann::json capabilitiesFrom(std::span<const WorkloadFigures> measured);

// Runs the reference workloads of these names, or all, in turns on the device and on
// nnapi-reference, each at least `seconds` on either. The device is given by its whole name.
// docs/benchmark.md describes the document. It lists workloads that the device does not support,
// with the reason. OP_FAILED when the device supports no workload.
Result<nlohmann::json> measureCapabilities(const std::string& device, double seconds,
                                           const std::vector<std::string>& names);

// The document as text for a terminal.
std::string capabilitiesText(const nlohmann::json& document);

}  // namespace halyard::cli
