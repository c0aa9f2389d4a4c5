// Puts decisions into words: what the report of a compilation says of operations and parts.
// Thread safety: pure functions. Ownership: results own their text; a SoleDevice borrows the
// device.
#pragma once

#include <string>
#include <vector>

#include "cpu/shape_propagation.h"
#include "runtime/partition/partitioner.h"
#include "runtime/report/report.h"

namespace halyard::runtime {

// `order`: for each operation of the main subgraph the application's index. `leftOut`: devices that
// were no candidates, and why.
Report::Decisions describeDecisions(const Plan& plan, SupportTable& support, CostModel& costs,
                                    const std::vector<uint32_t>& order,
                                    const std::vector<OperationReport::WhyNot>& leftOut);

// A model without control flow that its only candidate has taken as a whole.
struct SoleDevice {
  ValidModel model;
  const Device* device = nullptr;
  std::vector<uint32_t> order;
  std::vector<OperationReport::WhyNot> leftOut;
  hal::ExecutionPreference preference = hal::ExecutionPreference::FAST_SINGLE_ANSWER;
  CostSettings costs;
};
Report::Decisions describeSoleDevice(const SoleDevice& sole);

// When there is no plan: for each operation why the candidates do not take it.
Report::Decisions describeSupport(SupportTable& support, const std::vector<uint32_t>& order,
                                  const std::vector<OperationReport::WhyNot>& leftOut);

// When there is none because the model can never be computed: `failures`, by operation of the main
// subgraph, says so of some.
Report::Decisions describeSureFailures(const Model& model, const cpu::SureFailures& failures,
                                       const std::vector<uint32_t>& order,
                                       const std::vector<const Device*>& devices);

// "1.25 ms", "310 us", "42 ns".
std::string durationText(double nanoseconds);

}  // namespace halyard::runtime
