// Makes a plan of what the partitioner has decided.
// Thread safety: pure functions. Ownership: the plan owns the models of its steps.
#pragma once

#include "runtime/partition/partitioner.h"
#include "runtime/partition/plan.h"

namespace halyard::runtime {

// OP_FAILED for a part without inputs or without outputs, and for one that gives a value of unknown
// size to another on a device before HAL 1.2. The steps are not prepared yet.
Result<Plan> buildPlan(SupportTable& support, CostModel& costs, const SubgraphChoice& choice,
                       const OperationNamer& nameOf);

// The whole model on one device. `asModel`: subgraphAsModel of its main subgraph.
Plan simplePlan(const Model& model, ValidModel asModel, const Device& device);

}  // namespace halyard::runtime
