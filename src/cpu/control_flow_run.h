// Runs the operations that run subgraphs: branches and loops.
// Thread safety: as SubgraphRun.
// Ownership: the returned values own their memory, or use the memory of the inputs.
#pragma once

#include <span>
#include <vector>

#include "cpu/run_services.h"

namespace halyard::cpu {

// Runs operation `index` of the subgraph, which must be control flow. `inputs` are the values of
// its operands. On success, `values` has one value per output of the operation. A loop that exceeds
// the execution's loop timeout ends with MISSED_DEADLINE_TRANSIENT. The timeout is 2 s by default,
// and never more than 15 s.
Status runControlFlow(const SubgraphPlan& plan, size_t index, const RunServices& services,
                      std::span<const ops::Tensor> inputs, std::vector<RunValue>* values);

}  // namespace halyard::cpu
