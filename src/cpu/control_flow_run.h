// Running the operations that run subgraphs: a branch, a loop.
// Thread safety: as SubgraphRun.
// Ownership: the values returned own their memory, or lie where the inputs lie.
#pragma once

#include <span>
#include <vector>

#include "cpu/subgraph_run.h"

namespace halyard::cpu {

// Runs operation `index` of the subgraph, whose definition says that it is control flow. `inputs`
// are the values of its operands; on success `values` has one per output of the operation. A loop
// that goes on beyond the execution's loop timeout (2 s where it says none, never more than 15 s)
// ends with MISSED_DEADLINE_TRANSIENT.
Status runControlFlow(const SubgraphPlan& plan, size_t index, const RunServices& services,
                      std::span<const ops::Tensor> inputs, std::vector<RunValue>* values);

}  // namespace halyard::cpu
