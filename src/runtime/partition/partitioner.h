// The partitioner: which device computes which operation of a model.
// Thread safety: one thread at a time for each model. Ownership: results own their tables.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/partition/cost_model.h"
#include "runtime/partition/partition_graph.h"
#include "runtime/partition/support.h"

namespace halyard::runtime {

// What has been decided of a subgraph.
struct SubgraphChoice {
  uint32_t subgraph = kMainSubgraph;
  // By operation: an index into the candidates; their number stands for the runtime, which runs an
  // IF or WHILE itself and hands out the operations of its models.
  std::vector<uint32_t> deviceOf;
  std::vector<Part> parts;  // in the order in which they run
  std::vector<PartBorder> borders;
  // Of operations that the runtime runs itself, their subgraphs in the order of the inputs.
  std::map<uint32_t, std::vector<std::shared_ptr<const SubgraphChoice>>> inner;
  Cost predicted;  // of running it once
};

// Names an operation for people: those of the main subgraph as the application has added them.
using OperationNamer = std::function<std::string(uint32_t subgraph, uint32_t operation)>;

// Decides for the main subgraph and all that the runtime will run itself. BAD_DATA when no
// candidate takes an operation: it names the operation and each candidate's reason.
//
// With CostModel::countsBoundaries the plan is improved beyond the best device for each operation,
// and never predicted to be slower than any one candidate that takes everything.
Result<std::shared_ptr<const SubgraphChoice>> choosePartitions(SupportTable& support,
                                                               CostModel& costs,
                                                               const OperationNamer& nameOf);

}  // namespace halyard::runtime
