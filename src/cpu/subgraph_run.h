// SubgraphRun: one run of one subgraph, by its steps or operation by operation.
// Thread safety: none; a run belongs to one thread. Its loops may use the pool's threads.
// Ownership: borrows plan, services and bound memory; owns the temporaries and results.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "cpu/block_pool.h"
#include "cpu/execution_plan.h"
#include "cpu/run_services.h"
#include "cpu/step_run.h"

namespace halyard::cpu {

// The caller's place for an output of the subgraph.
struct OutputTarget {
  void* data = nullptr;
  size_t length = 0;  // available bytes; 0 without memory
  // Another process can write to the memory, so the run never reads it back.
  bool shared = false;
};

class SubgraphRun {
 public:
  SubgraphRun(const SubgraphPlan& plan, const RunServices& services);
  ~SubgraphRun();
  SubgraphRun(const SubgraphRun&) = delete;
  SubgraphRun& operator=(const SubgraphRun&) = delete;

  // Clears values and results for a new run; targets stay. A run can repeat any number of times.
  void reset();
  // The same, but the inputs stay, too. Only for fixed plans.
  void rewind();
  // Called between two runs. Returns the last results and the arena to the services' blocks.
  void releaseMemory();

  // Lends the run of the subgraph's steps, with its memory, in place of one of its own.
  void useSteps(StepRun* steps) { stepRun_ = steps; }

  // The block for the temporaries of a subgraph without steps. It can serve a later run of the same
  // plan.
  void giveArena(BlockPool::Block arena) { arena_ = std::move(arena); }
  BlockPool::Block takeArena() { return std::exchange(arena_, {}); }

  // Binds input i. A `value` that is not omitted has data that outlives the run. Its real
  // dimensions must agree with the subgraph's (OP_FAILED).
  Status bindInput(size_t i, const ops::Tensor& value);
  // Declares the caller's known dimensions of output i, possibly none.
  void declareOutput(size_t i, const Shape& dims);
  // Sets the caller's memory for output i, which may be too small. Without a target, the run
  // allocates the output's memory.
  void bindOutput(size_t i, const OutputTarget& target) { targets_[i] = target; }

  // Runs the steps if the inputs and outputs are as planned, and otherwise all operations. If an
  // output is too small for its target, the run goes on as far as shapes may depend on it.
  Status run();

  // The shape of output i after run, and whether its target is large enough.
  const ops::Tensor& output(size_t i) const { return tensors_[plan_.subgraph->outputIndexes[i]]; }
  bool isSufficient(size_t i) const { return sufficient_[i]; }
  bool isSufficient() const { return !insufficient_; }  // whether all targets are large enough
  // Takes output i, which must have no target.
  RunValue takeOutput(size_t i);

 private:
  Status runSteps();
  // Returns the error for a subgraph with no other way than its steps.
  Status refuse() const;
  Status runOperation(size_t index);
  Status runControlFlow(size_t index);
  Status runKernel(size_t index);
  // Returns the operation's view of its operands, stored in `to`.
  std::span<ops::Tensor> gather(std::span<const uint32_t> operands,
                                std::vector<ops::Tensor>* to) const;
  // Sets the real dimensions of the operation's outputs, here and in `outputs`.
  Status inferShapes(size_t index, ops::OperationContext& context, std::span<ops::Tensor> outputs);
  // Accepts the real dimensions of output i of the operation.
  Status acceptDims(const Operation& operation, size_t i, const Shape& dims);
  // Moves a value of another subgraph's run to output i of the operation.
  Status acceptValue(const Operation& operation, size_t i, RunValue value);
  // Checks whether the operand's target, if any, is large enough.
  void checkTarget(uint32_t operand);
  bool needsKernel(const Operation& operation) const;
  // Gives the operand memory: the target if it is suitable, otherwise its own.
  Status placeOutput(uint32_t operand);
  // Copies an output from its own memory to its target.
  void deliverOutput(uint32_t operand);
  void releaseConsumed(const Operation& operation);
  Status giveBlock(uint32_t operand);

  const SubgraphPlan& plan_;
  const RunServices& services_;
  BlockPool::Block arena_;
  StepRun* stepRun_ = nullptr;
  std::optional<StepRun> ownStepRun_;
  BlockPool::Block stepArena_;
  // By operand.
  std::vector<ops::Tensor> tensors_;
  std::vector<BlockPool::Block> owned_;
  std::vector<uint32_t> remaining_;  // consumers that have not run
  // Views of the running operation.
  std::vector<ops::Tensor> kernelInputs_;
  std::vector<ops::Tensor> kernelOutputs_;
  // By output of the subgraph.
  std::vector<std::optional<OutputTarget>> targets_;
  std::vector<bool> sufficient_;
  bool insufficient_ = false;
  bool asPlanned_ = true;  // no input is omitted and no output is declared differently
};

}  // namespace halyard::cpu
