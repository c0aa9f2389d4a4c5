// Fenced executions of plans: every step waits for the fence of the one before.
// Thread safety: may be called from any thread. Ownership: as each says.
#pragma once

#include <memory>
#include <span>

#include "runtime/run/plan_runner.h"

namespace halyard::runtime {

// Whether nothing has to be read or found out between the steps. If so, all can be launched at
// once; otherwise an execution has to be run step by step after all fences.
bool canChain(const PlanRunner& runner, const hal::Request& request,
              const MemoryArguments& memories);

// As hal::PreparedModel::executeFenced, for a plan that can be chained. With an error nothing is
// being computed any more. The runner and the memories must outlive the execution.
hal::FencedResult startFencedPlan(PlanRunner& runner, const hal::Request& request,
                                  const MemoryArguments& memories, std::span<const int> waitFor,
                                  const hal::ExecuteOptions& options,
                                  std::optional<std::chrono::nanoseconds> duration);

// Waits for all. OP_FAILED when one has failed.
Status waitForFences(std::span<const int> fences);

}  // namespace halyard::runtime
