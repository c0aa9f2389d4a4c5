// StepPlan: a subgraph whose sizes are all known, as steps over planned memory. A step has a kernel
// of a driver, or the operation's reference kernel, or it runs other subgraphs.
// Thread safety: immutable once made.
// Ownership: owns the kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cpu/arena_plan.h"
#include "cpu/execution_plan.h"
#include "cpu/kernel.h"

namespace halyard::cpu {

struct Step {
  size_t operation;       // the last operation that the step computes
  OperandIndexes inputs;  // operands with the types and dimensions that the kernel sees
  OperandIndexes outputs;
  OperandIndexes sources;          // by input: the operand that has the memory
  std::unique_ptr<Kernel> kernel;  // null: the reference kernel, or control flow
};

struct StepPlan {
  std::vector<Step> steps;
  OperandPlaces places;           // of temporaries, and of outputs that steps read
  std::vector<bool> copiesInput;  // by input: a step without a kernel reads it
  // The constants of the subgraph may be gone, because kernels have packed them. No run can then
  // compute the subgraph in another way.
  bool isOnlyWay = false;
};

// Returns whether steps may compute the subgraph, as far as this is known without all sizes.
bool mayHaveSteps(const Subgraph& subgraph);
// Returns whether steps can compute the subgraph.
bool canHaveSteps(const SubgraphPlan& plan);

// Gives places to the values that the steps write. The steps are in the order of execution.
std::shared_ptr<StepPlan> planSteps(const SubgraphPlan& plan, std::vector<Step> steps);

}  // namespace halyard::cpu
