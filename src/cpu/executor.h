// Executor: runs a model on the CPU with the operations' reference kernels.
// Thread safety: immutable after create; execute may run in several threads at once.
// Ownership: shares the model; maps its constant pools for its own lifetime.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "cpu/kernel_patch.h"
#include "halyard/driver/hal_types.h"
#include "halyard/driver/mapped_request.h"
#include "halyard/driver/model.h"
#include "halyard/driver/shared_memory.h"
#include "halyard/driver/status.h"
#include "ops/operation.h"

namespace halyard::cpu {

struct ExecutionPlan;

// The executor reads an input in shared memory once, and never reads an output back from it.
using Argument = hal::MappedArgument;

class Executor {
 public:
  // `model` must have passed validateModel. UNMAPPABLE when a constant pool cannot be mapped;
  // BAD_DATA naming the operation when there is one that the CPU does not have. One that fails
  // because of its operands' dimensions or constants is an error of each execution.
  // `pool` may be null: kernels then run in the calling thread. It must outlive the executor.
  // `patch`, if any, runs the kernels.
  static Result<std::shared_ptr<Executor>> create(
      std::shared_ptr<const Model> model, ThreadPool* pool,
      std::shared_ptr<const KernelPatch> patch = nullptr);
  // Of a plan with ConstantReading::ALL.
  static std::shared_ptr<Executor> create(std::shared_ptr<const ExecutionPlan> plan,
                                          ThreadPool* pool);
  virtual ~Executor() = default;

  // `outputs` say where results go: one that is too short (or null) makes the execution end with
  // OUTPUT_INSUFFICIENT_SIZE and the shapes of all outputs. BAD_DATA for arguments that do not suit
  // the model, MISSED_DEADLINE_PERSISTENT when the deadline has passed at the call and _TRANSIENT
  // when it passes later or a loop does not end within its timeout (kernels look at the deadline
  // and the cancellation several times a millisecond: base/work_limit.h), OP_FAILED naming the
  // operation that failed, OUT_OF_MEMORY. With OK there is one shape per output. Timing is not
  // measured here.
  virtual hal::ExecutionResult execute(std::span<const Argument> inputs,
                                       std::span<const Argument> outputs,
                                       const hal::ExecuteOptions& options) = 0;

  // Executions with the same arguments again and again; what they say may have changed in between,
  // and the first one has everything ready for the next. One at a time.
  class Series {
   public:
    virtual ~Series() = default;
    // As Executor::execute; but with OK there are no shapes if arguments and model determine them.
    virtual hal::ExecutionResult execute(const hal::ExecuteOptions& options) = 0;
  };
  // The executor and what the arguments point to must outlive the series, which has no memory for
  // tensors between two executions.
  virtual std::unique_ptr<Series> makeSeries(std::span<const Argument> inputs,
                                             std::span<const Argument> outputs) = 0;

  // In bytes: what the temporaries of the main subgraph need, planned in advance, and the most that
  // temporaries and kernels of one execution had so far.
  struct MemoryUse {
    size_t planned = 0;
    size_t peak = 0;
  };
  virtual MemoryUse memoryUse() const = 0;
};

}  // namespace halyard::cpu
