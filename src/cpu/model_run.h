// ModelRun: executions of a plan with the same arguments. It holds the caller's buffers and a run
// of the main subgraph.
// Thread safety: none; a run belongs to one thread at a time. Its loops may use the pool's threads.
// Ownership: borrows plan, kernels' services and the caller's buffers; owns the temporaries.
#pragma once

#include <span>
#include <vector>

#include "cpu/block_pool.h"
#include "cpu/execution_plan.h"
#include "cpu/executor.h"
#include "cpu/subgraph_run.h"
#include "halyard/driver/hal_types.h"

namespace halyard::cpu {

class ModelRun {
 public:
  // run() reports errors of the arguments. `steps`, if any, is a run of the main subgraph's steps.
  ModelRun(const ExecutionPlan& plan, KernelScratch& kernels, std::span<const Argument> inputs,
           std::span<const Argument> outputs, StepRun* steps = nullptr);

  // The main subgraph's block, from an earlier run and for a later one; see SubgraphRun.
  void giveArena(BlockPool::Block arena) { main_.giveArena(blocks_.adopt(std::move(arena))); }
  BlockPool::Block takeArena() { return blocks_.disown(main_.takeArena()); }

  // As Executor::execute, with the current contents of the buffers. `allShapes`: the result also
  // has shapes that arguments and model determine. Otherwise it has no shapes if they determine all
  // of them.
  hal::ExecutionResult run(const hal::ExecuteOptions& options, bool allShapes);
  // Called after a run with any result. Releases all memory of one execution.
  void releaseMemory();

  // The maximum memory of temporaries and kernels at one time, in bytes.
  size_t peakBytes() const { return blocks_.peakBytes(); }

 private:
  struct Input {
    ops::Tensor value;
    const void* data;  // the caller's data
    size_t bytes;
    bool isCopied;  // copied before the operations read it
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
  std::vector<size_t> outputLengths_;  // available bytes
  std::vector<Shape> outputDims_;      // as far as they are known
  bool shapesKnown_ = false;           // all output shapes are known
  bool inputsGiven_ = false;           // main_ has the inputs, except for copied ones
  Status bound_;                       // error of the arguments, if any
  std::vector<BlockPool::Block> inputCopies_;
};

}  // namespace halyard::cpu
