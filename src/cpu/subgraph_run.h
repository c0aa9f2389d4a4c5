// SubgraphRun: one run of one subgraph, operation by operation.
// Thread safety: none; a run belongs to one thread, which may use the pool's for its loops.
// Ownership: borrows plan, services and what is bound; owns the temporaries and results.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/thread_pool.h"
#include "cpu/block_pool.h"
#include "cpu/execution_plan.h"
#include "halyard/driver/hal_types.h"

namespace halyard::cpu {

// What the runs of all subgraphs of one execution share.
struct RunServices {
  const ExecutionPlan& plan;
  ThreadPool* threads;  // may be null
  BlockPool& blocks;
  const hal::ExecuteOptions* options = nullptr;  // while it runs
};

// MISSED_DEADLINE (as `missed` says) when the deadline has passed; OP_FAILED when the execution has
// been cancelled.
Status checkMayGoOn(const hal::ExecuteOptions& options, ResultCode missed);

// memcpy that looks at the thread's WorkLimit now and then.
void copyInChunks(void* to, const void* from, size_t bytes);

// A value, and the memory it lies in if it is this object's own.
struct RunValue {
  ops::Tensor tensor;
  BlockPool::Block block;
};

// Where the caller wants an output of the subgraph.
struct OutputTarget {
  void* data = nullptr;
  size_t length = 0;  // bytes available; 0 when there is no memory
  // Another process can write to the memory: it is never read back.
  bool shared = false;
};

class SubgraphRun {
 public:
  SubgraphRun(const SubgraphPlan& plan, const RunServices& services);
  ~SubgraphRun();
  SubgraphRun(const SubgraphRun&) = delete;
  SubgraphRun& operator=(const SubgraphRun&) = delete;

  // Begins anew: no values, no results; targets stay. A run can be used any number of times, one
  // after the other.
  void reset();
  // The same, but the inputs stay, too. For plans that are fixed.
  void rewind();
  // Between two runs: what the last one has computed and its arena go back to the services' blocks.
  void releaseMemory();

  // The block that the subgraph's temporaries have their places in, to be kept for a later run of
  // the same plan.
  void giveArena(BlockPool::Block arena) { arena_ = std::move(arena); }
  BlockPool::Block takeArena() { return std::exchange(arena_, {}); }

  // Input i. `value` has real dimensions, which must agree with the subgraph's (OP_FAILED), and
  // data that outlives the run; or is omitted.
  Status bindInput(size_t i, const ops::Tensor& value);
  // What the caller knows of its dimensions, maybe nothing.
  void declareOutput(size_t i, const Shape& dims);
  // Asks for output i at a place of the caller's, which may prove too small. Without it the run
  // gives the output memory of its own.
  void bindOutput(size_t i, const OutputTarget& target) { targets_[i] = target; }

  // Runs all operations. With an output that is too small for its target the run still goes on as
  // far as shapes may depend on it.
  Status run();

  // Of output i, after run: its shape, and whether its target is large enough.
  const ops::Tensor& output(size_t i) const { return tensors_[plan_.subgraph->outputIndexes[i]]; }
  bool isSufficient(size_t i) const { return sufficient_[i]; }
  bool isSufficient() const { return !insufficient_; }  // all are
  // Takes output i, which had no target.
  RunValue takeOutput(size_t i);

 private:
  uint32_t number() const;  // as trace::Details::subgraph
  Status runOperation(size_t index);
  Status runControlFlow(size_t index);
  Status runKernel(size_t index);
  // The operation's view of its operands, in `to`.
  std::span<ops::Tensor> gather(std::span<const uint32_t> operands,
                                std::vector<ops::Tensor>* to) const;
  // Sets the real dimensions of the operation's outputs, here and in `outputs`.
  Status inferShapes(size_t index, ops::OperationContext& context, std::span<ops::Tensor> outputs);
  // Takes over the real dimensions of output i of the operation.
  Status acceptDims(const Operation& operation, size_t i, const Shape& dims);
  // Brings a value computed by another subgraph's run to output i of the operation.
  Status acceptValue(const Operation& operation, size_t i, RunValue value);
  // Sees whether the operand's target, if it has one, is large enough.
  void checkTarget(uint32_t operand);
  bool needsKernel(const Operation& operation) const;
  // Gives the operand memory: the target where that serves, its own otherwise.
  Status placeOutput(uint32_t operand);
  // Brings an output that was computed in memory of its own to its target.
  void deliverOutput(uint32_t operand);
  void releaseConsumed(const Operation& operation);
  Status giveBlock(uint32_t operand);

  const SubgraphPlan& plan_;
  const RunServices& services_;
  BlockPool::Block arena_;
  // By operand.
  std::vector<ops::Tensor> tensors_;
  std::vector<BlockPool::Block> owned_;
  std::vector<uint32_t> remaining_;  // consumers that have not run
  // Of the operation that runs.
  std::vector<ops::Tensor> kernelInputs_;
  std::vector<ops::Tensor> kernelOutputs_;
  // By output of the subgraph.
  std::vector<std::optional<OutputTarget>> targets_;
  std::vector<bool> sufficient_;
  bool insufficient_ = false;
  bool asPlanned_ = true;  // no input is omitted, no output declared in another way
};

}  // namespace halyard::cpu
