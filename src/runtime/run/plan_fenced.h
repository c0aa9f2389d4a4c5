// Fenced executions of plans. Each step waits for the fence of the step before it.
// Thread safety: the functions may be called from any thread. Ownership: see each function.
#pragma once

#include <memory>
#include <span>

#include "runtime/run/plan_runner.h"

namespace halyard::runtime {

// Whether the runtime has nothing to read or determine between the steps. If true, all steps can be
// launched at once. Otherwise the execution must run step by step after all fences are signalled.
bool canChain(const PlanRunner& runner, const hal::Request& request,
              const MemoryArguments& memories);

// Like hal::PreparedModel::executeFenced, for a plan for which canChain() is true. When it returns
// an error, no step runs any more. The runner and the memories must outlive the execution.
hal::FencedResult startFencedPlan(PlanRunner& runner, const hal::Request& request,
                                  const MemoryArguments& memories, std::span<const int> waitFor,
                                  const hal::ExecuteOptions& options,
                                  std::optional<std::chrono::nanoseconds> duration);

// Waits for all fences. OP_FAILED when one of them is in its error state.
Status waitForFences(std::span<const int> fences);

}  // namespace halyard::runtime
