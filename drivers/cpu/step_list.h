// Makes the steps of a model. A step is one operation, or several at once, with a kernel of this
// driver where one exists.
// Thread safety: pure functions; steps are values.
// Ownership: steps own their kernels.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cpu/execution_plan.h"
#include "kernels/kernel.h"

namespace halyard::cpudriver {

struct Step {
  size_t operation;       // the last one that is in it
  OperandIndexes inputs;  // operands, whose tensors the kernel takes them for
  OperandIndexes outputs;
  OperandIndexes sources;          // by input: the operand in whose memory it is
  std::unique_ptr<Kernel> kernel;  // null: the reference kernel
};

// The steps in the order of execution. All dimensions in `plan` must be known. An operation that
// only gives a tensor another shape becomes no step: readers of its result read the tensor.
// `packing` is for the kernels, and may be null. WorkAbandoned as checkWorkLimit.
std::vector<Step> makeSteps(const cpu::SubgraphPlan& plan, Packing* packing);

}  // namespace halyard::cpudriver
