// ModelRun: one execution of a plan.
// Thread safety: none; one run belongs to one thread, which may use the pool's for its loops.
// Ownership: borrows plan, thread pool and the caller's buffers; owns the temporaries.
#pragma once

#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "cpu/block_pool.h"
#include "cpu/execution_plan.h"
#include "cpu/executor.h"
#include "hal/types.h"

namespace halyard::cpu {

class ModelRun {
 public:
  // `threads` may be null.
  ModelRun(const ExecutionPlan& plan, ThreadPool* threads, const hal::ExecuteOptions& options,
           std::span<const Argument> inputs, std::span<const Argument> outputs);

  // As Executor::execute; once.
  hal::ExecutionResult run();

 private:
  Status runAll();
  Status checkDeadline(ResultCode missed) const;
  Status bindInputs();
  Status bindInput(size_t position);
  Status bindOutputs();
  Status runOperation(size_t index);
  // Takes over the inferred dimensions of one output, which must agree with what is declared.
  Status acceptDims(const Operation& operation, size_t i, const Shape& inferred);
  // Says whether the caller's buffer is large enough, if the operand is a main output.
  void noteOutputShape(uint32_t operand);
  bool needsKernel(const Operation& operation) const;
  // Gives the operand memory: the caller's where that serves, its own otherwise.
  Status placeOutput(uint32_t operand);
  // Brings a main output that was computed in memory of its own to the caller.
  void deliverOutput(uint32_t operand);
  void releaseConsumed(const Operation& operation);
  Status giveBlock(uint32_t operand);

  const ExecutionPlan& plan_;
  const Subgraph& main_;
  ThreadPool* threads_;
  const hal::ExecuteOptions& options_;
  std::span<const Argument> inputs_;
  std::span<const Argument> outputs_;

  BlockPool blocks_;
  // By operand.
  std::vector<ops::Tensor> tensors_;
  std::vector<BlockPool::Block> owned_;
  std::vector<uint32_t> remaining_;  // consumers that have not run
  // By main output.
  std::vector<hal::OutputShape> outputShapes_;
  bool insufficient_ = false;
};

}  // namespace halyard::cpu
