// ModelRun: one execution of a plan: the caller's arguments, and a run of the main subgraph.
// Thread safety: none; one run belongs to one thread, which may use the pool's for its loops.
// Ownership: borrows plan, thread pool and the caller's buffers; owns the temporaries.
#pragma once

#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "cpu/block_pool.h"
#include "cpu/execution_plan.h"
#include "cpu/executor.h"
#include "cpu/subgraph_run.h"
#include "halyard/driver/hal_types.h"

namespace halyard::cpu {

class ModelRun {
 public:
  // `threads` may be null.
  ModelRun(const ExecutionPlan& plan, ThreadPool* threads, const hal::ExecuteOptions& options,
           std::span<const Argument> inputs, std::span<const Argument> outputs);

  // The main subgraph's block, from an earlier run and for a later one; see SubgraphRun.
  void giveArena(BlockPool::Block arena) { main_.giveArena(blocks_.adopt(std::move(arena))); }
  BlockPool::Block takeArena() { return main_.takeArena(); }

  // As Executor::execute; once.
  hal::ExecutionResult run();

  // The most memory that temporaries and kernels had at one time, in bytes.
  size_t peakBytes() const { return blocks_.peakBytes(); }

 private:
  Status runAll();
  Status bindInputs();
  Result<ops::Tensor> inputValue(size_t position);
  Status bindOutputs();
  Status reportInsufficient();

  const ExecutionPlan& plan_;
  const Subgraph& subgraph_;
  std::span<const Argument> inputs_;
  std::span<const Argument> outputs_;

  BlockPool blocks_;
  const RunServices services_;
  SubgraphRun main_;
  std::vector<BlockPool::Block> inputCopies_;
  const hal::ExecuteOptions& options_;
  std::vector<hal::OutputShape> outputShapes_;
};

}  // namespace halyard::cpu
