// Makes the steps of a subgraph. A step is one operation, or several at once, with a kernel of this
// driver where one exists.
// Thread safety: pure functions; steps are values.
// Ownership: steps own their kernels.
#pragma once

#include <vector>

#include "cpu/execution_plan.h"
#include "cpu/step_plan.h"
#include "kernels/packing.h"

namespace halyard::cpudriver {

using cpu::Step;

// The steps in the order of execution. All dimensions in `plan` must be known. An operation that
// only gives a tensor another shape becomes no step: readers of its result read the tensor.
// `packing` is for the kernels, and may be null. `isRelaxed` as KernelSite. WorkAbandoned as
// checkWorkLimit.
std::vector<Step> makeSteps(const cpu::SubgraphPlan& plan, Packing* packing,
                            bool isRelaxed = false);

// Gives steps to the bodies of control flow that can have them. Their constants stay as they are.
void addBodySteps(cpu::ExecutionPlan* plan, Packing* packing);

}  // namespace halyard::cpudriver
