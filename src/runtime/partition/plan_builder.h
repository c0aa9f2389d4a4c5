// Makes a plan from the partitioner's decisions.
// Thread safety: pure functions.
// Ownership: the plan owns the models of its steps.
#pragma once

#include "runtime/partition/partitioner.h"
#include "runtime/partition/plan.h"

namespace halyard::runtime {

// Returns OP_FAILED for a part without inputs or outputs. Also for a part on a device before HAL
// 1.2 that gives a value of unknown size to another. The steps are not prepared yet.
Result<Plan> buildPlan(SupportTable& support, CostModel& costs, const SubgraphChoice& choice,
                       const OperationNamer& nameOf);

// Returns a plan with the whole model on one device. `asModel`: subgraphAsModel of its main
// subgraph.
Plan simplePlan(const Model& model, ValidModel asModel, const Device& device);

}  // namespace halyard::runtime
