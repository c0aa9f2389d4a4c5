// CompiledModel: a model whose steps the CPU executor runs, with kernels of this driver. It makes
// the steps, now or later. A run keeps its arguments' places for the next one.
// Thread safety: immutable, except the memory that is kept between runs and the deferred work. Both
// have locks. Runs may overlap.
// Ownership: shares the model, owns kernels and memory. Borrows threads and the watch over idle
// memory, which must outlive it.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "cpu/execution_plan.h"
#include "cpu/executor.h"
#include "cpu/step_plan.h"
#include "cpu/step_run.h"
#include "deferred_work.h"
#include "halyard/driver/hal_types.h"
#include "idle_memory.h"
#include "late_compiler.h"
#include "shared_packing.h"
#include "thread_share.h"
#include "workspaces.h"

namespace halyard::cpudriver {

class CompiledModel final : private IdleMemory::Keeper {
 public:
  // The resources that models share. Each may be null. Those that a pointer borrows must outlive
  // the models.
  struct Resources {
    ThreadShare* threads = nullptr;
    IdleMemory* idle = nullptr;
    LateCompiler* late = nullptr;                    // the thread that will call complete()
    std::shared_ptr<PackedPieces> pieces = nullptr;  // of the same models
    std::shared_ptr<Workspaces> workspaces = nullptr;
    // A client in another process polls for results on a processor of these threads.
    bool clientTakesProcessor = false;

    // The same with new pieces and workspaces, where these are null.
    Resources complete() const;
  };

  // `model` must have passed validateModel. The result is null when the model cannot be compiled:
  // all sizes of its main subgraph must follow from the model. BAD_DATA and UNMAPPABLE as
  // cpu::Executor::create.
  static Result<std::unique_ptr<CompiledModel>> compile(std::shared_ptr<const Model> model,
                                                        const Resources& resources);
  // The same, but complete() or the first run makes the steps. Until then only the model's
  // arguments are known, and nothing large is read.
  static Result<std::unique_ptr<CompiledModel>> compileLater(std::shared_ptr<const Model> model,
                                                             const Resources& resources);
  // The same for a plan for inputs of some sizes (ExecutionPlan::forInputs). Null as compile().
  static std::unique_ptr<CompiledModel> compileLater(cpu::ExecutionPlan plan,
                                                     const Resources& resources);
  // Makes the deferred steps, or waits while another thread makes them. UNMAPPABLE where constants
  // cannot be read, OUT_OF_MEMORY; OP_FAILED after abandon(). Each call returns the same.
  Status complete() { return stepsMade_.finish(); }
  bool isComplete() const { return stepsMade_.hasSucceeded(); }
  // Whether complete() has failed. All runs fail then.
  bool hasFailed() { return stepsMade_.hasFailed(); }
  // The model will not run any more: deferred work ends early.
  void abandon() { stepsMade_.abandon(); }
  ~CompiledModel() override;
  CompiledModel(const CompiledModel&) = delete;
  CompiledModel& operator=(const CompiledModel&) = delete;

  // Whether the arguments are as in the plan: none is omitted, all are aligned and large enough,
  // and no dimensions contradict it.
  bool takes(std::span<const cpu::Argument> inputs, std::span<const cpu::Argument> outputs) const;
  // Runs once with arguments that it takes. Errors as cpu::Executor::execute. With OK the result
  // has no shapes: they are those of outputShapes. Adds the time of each step to `times`, if it is
  // not null.
  hal::ExecutionResult run(std::span<const cpu::Argument> inputs,
                           std::span<const cpu::Argument> outputs,
                           const hal::ExecuteOptions& options,
                           std::vector<std::chrono::nanoseconds>* times = nullptr);
  // As cpu::Executor::execute, with any arguments.
  hal::ExecutionResult execute(std::span<const cpu::Argument> inputs,
                               std::span<const cpu::Argument> outputs,
                               const hal::ExecuteOptions& options);
  // The bytes of a constant, by operand of the main subgraph. Null for other operands. If all
  // kernels have released the constant, its bytes may be gone.
  const void* constant(size_t operand) const { return plan_.main.tensors[operand].data; }
  // The shapes of the outputs, all sufficient.
  std::vector<hal::OutputShape> outputShapes() const;

  // Properties of the compiled model, for logs and tests. Operations and steps are those of all
  // subgraphs that have steps.
  struct Facts {
    size_t operations = 0;
    size_t steps = 0;
    size_t ownKernels = 0;  // steps without the reference kernel
    size_t arenaBytes = 0;
    size_t releasedBytes = 0;   // of constants, given back when they were packed
    size_t packedBytes = 0;     // only those that no other model of `pieces` has
    bool dividesLoops = false;  // among the threads: it has enough to compute (model_work.h)
  };
  Facts facts() const;
  // Memory that this model does not share: Facts' packedBytes. 0 before it is complete.
  size_t ownBytes() const { return isComplete() ? packedBytes_ : 0; }
  // The operation of the main subgraph that step `step` computes (of several, the last one), and
  // whether the step uses the reference kernel.
  struct StepFacts {
    size_t operation = 0;
    bool isReference = false;
  };
  StepFacts stepFacts(size_t step) const;

 private:
  CompiledModel(cpu::ExecutionPlan plan, const Resources& resources);
  // Without steps. Null when the model cannot have them.
  static Result<std::unique_ptr<CompiledModel>> plan(std::shared_ptr<const Model> model,
                                                     const Resources& resources);
  bool isRelaxed() const { return plan_.model->relaxComputationFloat32toFloat16; }
  Status makeAllSteps();
  Status makeStepsOfPlan();
  void setSteps(std::shared_ptr<const cpu::StepPlan> steps);
  Status awaitSteps(const hal::ExecuteOptions& options);
  // Calls body(run, workspace) within the limits of an execution, and turns exceptions into errors.
  template <typename Body>
  hal::ExecutionResult runWithMemory(const hal::ExecuteOptions& options, const Body& body);
  std::unique_ptr<cpu::StepRun> takeRun();
  void keepRun(std::unique_ptr<cpu::StepRun> run);
  bool releaseUnusedSince(IdleMemory::Clock::time_point before) override;

  cpu::ExecutionPlan plan_;
  const Resources resources_;
  DeferredWork stepsMade_;  // makes the plan's steps, and the members from here to dividesLoops_
  size_t releasedBytes_ = 0;
  size_t packedBytes_ = 0;
  bool dividesLoops_ = false;
  std::mutex mutex_;
  std::unique_ptr<cpu::StepRun> kept_;
  IdleMemory::Clock::time_point keptSince_;
};

}  // namespace halyard::cpudriver
