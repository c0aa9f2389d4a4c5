// The partitioner: assigns the operations of a model to devices.
// Thread safety: one thread at a time for each model.
// Ownership: results own their tables.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/partition/cost_model.h"
#include "runtime/partition/partition_graph.h"
#include "runtime/partition/support.h"

namespace halyard::runtime {

// The decisions for a subgraph.
struct SubgraphChoice {
  uint32_t subgraph = kMainSubgraph;
  // By operation: an index into the candidates. Their number stands for the runtime, which runs an
  // IF or WHILE itself and assigns the operations of its subgraphs to devices.
  std::vector<uint32_t> deviceOf;
  std::vector<Part> parts;  // in the order of execution
  std::vector<PartBorder> borders;
  // For operations that the runtime runs itself: their subgraphs in the order of the inputs.
  std::map<uint32_t, std::vector<std::shared_ptr<const SubgraphChoice>>> inner;
  Cost predicted;  // cost of one run
};

// Returns a readable name of an operation. Operations of the main subgraph have the application's
// index.
using OperationNamer = std::function<std::string(uint32_t subgraph, uint32_t operation)>;

// Decides for the main subgraph and all subgraphs that the runtime will run itself. Returns
// BAD_DATA when no candidate supports an operation. The error names the operation and each
// candidate's reason.
//
// With CostModel::countsBoundaries, the plan is better than the best device for each operation. It
// is never predicted to be slower than a single candidate that supports everything.
Result<std::shared_ptr<const SubgraphChoice>> choosePartitions(SupportTable& support,
                                                               CostModel& costs,
                                                               const OperationNamer& nameOf);

}  // namespace halyard::runtime
