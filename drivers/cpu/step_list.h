// The steps that a model becomes: operations one by one or several at once, each with a kernel of
// this driver's own where there is one. Thread safety: pure functions; steps are values.
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

// In the order in which they are to run. All dimensions in `plan` are known. What only gives
// another shape to a tensor becomes no step: who reads the result reads the tensor. `packing` is
// for the kernels, and may be null. WorkAbandoned as checkWorkLimit.
std::vector<Step> makeSteps(const cpu::SubgraphPlan& plan, Packing* packing);

}  // namespace halyard::cpudriver
