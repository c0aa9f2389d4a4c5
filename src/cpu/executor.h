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

// The executor reads an input in shared memory once. It never reads an output back from shared
// memory.
using Argument = hal::MappedArgument;

class Executor {
 public:
  // `model` must have passed validateModel. Returns UNMAPPABLE when a constant pool cannot be
  // mapped. Returns BAD_DATA, naming the operation, for an operation that the CPU does not have. An
  // operation that fails because of its operands' dimensions or constants is an error of each
  // execution. `pool` may be null: kernels then run in the calling thread. It must outlive the
  // executor. `patch`, if any, runs the kernels.
  static Result<std::shared_ptr<Executor>> create(
      std::shared_ptr<const Model> model, ThreadPool* pool,
      std::shared_ptr<const KernelPatch> patch = nullptr);
  // Creates an executor from a plan with ConstantReading::ALL.
  static std::shared_ptr<Executor> create(std::shared_ptr<const ExecutionPlan> plan,
                                          ThreadPool* pool);
  virtual ~Executor() = default;

  // `outputs` give the places for the results. If one is too short (or null), the execution ends
  // with OUTPUT_INSUFFICIENT_SIZE and the shapes of all outputs. BAD_DATA: the arguments do not
  // match the model. MISSED_DEADLINE_PERSISTENT: the deadline has passed at the call.
  // MISSED_DEADLINE_TRANSIENT: it passes later, or a loop exceeds its timeout. Kernels check the
  // deadline and the cancellation several times per millisecond (base/work_limit.h). OP_FAILED
  // names the operation that failed. OUT_OF_MEMORY is possible, too. With OK there is one shape per
  // output. This function measures no time.
  virtual hal::ExecutionResult execute(std::span<const Argument> inputs,
                                       std::span<const Argument> outputs,
                                       const hal::ExecuteOptions& options) = 0;

  // Repeated executions with the same arguments, whose contents may change in between. The first
  // one prepares everything for the next. One execution runs at a time.
  class Series {
   public:
    virtual ~Series() = default;
    // As Executor::execute. With OK, the result has no shapes if arguments and model determine
    // them.
    virtual hal::ExecutionResult execute(const hal::ExecuteOptions& options) = 0;
  };
  // The executor and the memory of the arguments must outlive the series. The series keeps no
  // memory for tensors between two executions.
  virtual std::unique_ptr<Series> makeSeries(std::span<const Argument> inputs,
                                             std::span<const Argument> outputs) = 0;

  // In bytes: the planned size of the main subgraph's temporaries, and the maximum for temporaries
  // and kernels of one execution so far.
  struct MemoryUse {
    size_t planned = 0;
    size_t peak = 0;
  };
  virtual MemoryUse memoryUse() const = 0;
};

}  // namespace halyard::cpu
