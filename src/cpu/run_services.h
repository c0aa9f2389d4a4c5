// RunServices: the state that the runs of all subgraphs share in one execution.
// Thread safety: none; an execution belongs to one thread.
// Ownership: borrows everything.
#pragma once

#include "cpu/block_pool.h"
#include "cpu/execution_plan.h"
#include "cpu/kernel_scratch.h"
#include "halyard/driver/hal_types.h"
#include "ops/operation.h"

namespace halyard::cpu {

struct RunServices {
  const ExecutionPlan& plan;
  KernelScratch& kernels;
  BlockPool& blocks;
  const hal::ExecuteOptions* options = nullptr;  // set during the execution
};

// A value, and its memory if this object owns it.
struct RunValue {
  ops::Tensor tensor;
  BlockPool::Block block;
};

// Returns MISSED_DEADLINE (the code `missed`) when the deadline has passed, OP_FAILED when the
// execution has been cancelled.
Status checkMayGoOn(const hal::ExecuteOptions& options, ResultCode missed);

// A memcpy that regularly checks the thread's WorkLimit.
void copyInChunks(void* to, const void* from, size_t bytes);

}  // namespace halyard::cpu
