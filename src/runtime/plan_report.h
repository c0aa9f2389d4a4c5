// Puts decisions into words: what the report of a compilation says of operations and parts.
// Thread safety: pure functions. Ownership: results own their text.
#pragma once

#include <string>
#include <vector>

#include "runtime/partitioner.h"
#include "runtime/report.h"

namespace halyard::runtime {

struct Decisions {
  std::vector<OperationReport> operations;
  std::vector<PartitionReport> partitions;
  std::vector<Report::Target> targets;  // by partition
};

// `order`: for each operation of the main subgraph the application's index. `leftOut`: devices that
// were no candidates, and why.
Decisions describeDecisions(const Plan& plan, SupportTable& support, CostModel& costs,
                            const std::vector<uint32_t>& order,
                            const std::vector<OperationReport::WhyNot>& leftOut);

// When there is no plan: for each operation why the candidates do not take it.
Decisions describeSupport(SupportTable& support, const std::vector<uint32_t>& order,
                          const std::vector<OperationReport::WhyNot>& leftOut);

// "1.25 ms", "310 us", "42 ns".
std::string durationText(double nanoseconds);

}  // namespace halyard::runtime
