// ModelRun: executions of a plan with the same arguments: the caller's buffers, and a run of the
// main subgraph.
// Thread safety: none; a run belongs to one thread at a time, which may use the pool's for its
// loops.
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
  // `threads` may be null. What is wrong with the arguments, run says.
  ModelRun(const ExecutionPlan& plan, ThreadPool* threads, std::span<const Argument> inputs,
           std::span<const Argument> outputs);

  // The main subgraph's block, from an earlier run and for a later one; see SubgraphRun.
  void giveArena(BlockPool::Block arena) { main_.giveArena(blocks_.adopt(std::move(arena))); }
  BlockPool::Block takeArena() { return blocks_.disown(main_.takeArena()); }

  // As Executor::execute, with what the buffers hold now. `allShapes`: also those that arguments
  // and model determine; without, the result has no shapes if these are all there are to tell.
  hal::ExecutionResult run(const hal::ExecuteOptions& options, bool allShapes);
  // After a run, however it has ended: lets go of all memory that is for one execution.
  void releaseMemory();

  // The most memory that temporaries and kernels had at one time, in bytes.
  size_t peakBytes() const { return blocks_.peakBytes(); }

 private:
  struct Input {
    ops::Tensor value;
    const void* data;  // the caller's
    size_t bytes;
    bool isCopied;  // before the operations see it
  };

  Status bindInputs(std::span<const Argument> inputs);
  Result<Input> bindInput(const Argument& argument, uint32_t index) const;
  Status bindOutputs(std::span<const Argument> outputs);
  Status runAll();
  Status giveInputs();
  void reportShapes(bool all, hal::ExecutionResult* result) const;

  const ExecutionPlan& plan_;
  const Subgraph& subgraph_;
  BlockPool blocks_;
  RunServices services_;
  SubgraphRun main_;
  std::vector<Input> inputs_;
  std::vector<size_t> outputLengths_;  // bytes available
  std::vector<Shape> outputDims_;      // as far as they are known
  bool shapesKnown_ = false;           // of all outputs
  bool inputsGiven_ = false;           // to main_, but for those that are copied
  Status bound_;                       // what is wrong with the arguments
  std::vector<BlockPool::Block> inputCopies_;
};

}  // namespace halyard::cpu
