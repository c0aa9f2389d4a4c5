// Describes decisions: the texts about operations and parts in a compilation's report.
// Thread safety: pure functions.
// Ownership: results own their text; a SoleDevice borrows the device.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cpu/shape_propagation.h"
#include "runtime/partition/partitioner.h"
#include "runtime/report/report.h"

namespace halyard::runtime {

// `order`: for each operation of the main subgraph, the application's index. `leftOut`: devices
// that were no candidates, and the reasons.
Report::Decisions describeDecisions(const Plan& plan, SupportTable& support, CostModel& costs,
                                    const std::vector<uint32_t>& order,
                                    const std::vector<OperationReport::RejectedDevice>& leftOut);

// A model without control flow that its only candidate has accepted as a whole.
struct SoleDevice {
  ValidModel model;
  const Device* device = nullptr;
  std::vector<uint32_t> order;
  std::vector<OperationReport::RejectedDevice> leftOut;
  hal::ExecutionPreference preference = hal::ExecutionPreference::FAST_SINGLE_ANSWER;
  CostSettings costs;
  std::vector<std::optional<double>> ownCosts;  // of the device, by operation
};
Report::Decisions describeSoleDevice(const SoleDevice& sole);

// Used without a plan: gives, for each operation, the candidates' reasons for refusal.
Report::Decisions describeSupport(SupportTable& support, const std::vector<uint32_t>& order,
                                  const std::vector<OperationReport::RejectedDevice>& leftOut);

// Used without a plan, because the model can never be computed. `failures` gives the reasons, by
// operation of the main subgraph.
Report::Decisions describeSureFailures(const Model& model, const cpu::SureFailures& failures,
                                       const std::vector<uint32_t>& order,
                                       const std::vector<const Device*>& devices);

// Returns a text such as "1.25 ms", "310 us", "42 ns".
std::string durationText(double nanoseconds);

}  // namespace halyard::runtime
