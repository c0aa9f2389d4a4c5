// The executor: a plan, and a run for each execution.
#include "cpu/executor.h"

#include <algorithm>
#include <functional>
#include <mutex>

#include "base/work_limit.h"
#include "cpu/execution_plan.h"
#include "cpu/kernel_scratch.h"
#include "cpu/model_run.h"
#include "halyard/driver/trace.h"

namespace halyard::cpu {
namespace {

// Divides loops among the threads of a pool, which may be null.
class PoolKernels final : public KernelScratch {
 public:
  explicit PoolKernels(ThreadPool* threads) : threads_(threads) {}

  void parallelFor(size_t count, size_t grain,
                   const std::function<void(size_t begin, size_t end)>& body) override {
    if (threads_ != nullptr) return threads_->parallelFor(count, grain, body);
    forEachChunk(0, count, grain, body);
  }

 private:
  ThreadPool* const threads_;
};

class PlanExecutor : public Executor {
 public:
  PlanExecutor(std::shared_ptr<const ExecutionPlan> plan, ThreadPool* threads)
      : plan_(std::move(plan)), threads_(threads) {}

  hal::ExecutionResult execute(std::span<const Argument> inputs, std::span<const Argument> outputs,
                               const hal::ExecuteOptions& options) override {
    try {
      PoolKernels kernels(threads_);
      ModelRun run(*plan_, kernels, inputs, outputs);
      return execute(run, options, /*allShapes=*/true);
    } catch (const std::bad_alloc&) {
      return outOfMemory();
    }
  }

  std::unique_ptr<Series> makeSeries(std::span<const Argument> inputs,
                                     std::span<const Argument> outputs) override {
    return std::make_unique<RunSeries>(*this, inputs, outputs);
  }

  MemoryUse memoryUse() const override {
    const std::lock_guard lock(mutex_);
    return {plan_->main.arenaBytes, peak_};
  }

 private:
  class RunSeries final : public Series {
   public:
    RunSeries(PlanExecutor& executor, std::span<const Argument> inputs,
              std::span<const Argument> outputs)
        : executor_(executor),
          kernels_(executor.threads_),
          run_(*executor.plan_, kernels_, inputs, outputs) {}
    hal::ExecutionResult execute(const hal::ExecuteOptions& options) override {
      return executor_.execute(run_, options, /*allShapes=*/false);
    }

   private:
    PlanExecutor& executor_;
    PoolKernels kernels_;
    ModelRun run_;
  };

  static hal::ExecutionResult outOfMemory() {
    return {Status(ResultCode::OUT_OF_MEMORY, "the CPU executor ran out of memory"), {}, {}};
  }

  hal::ExecutionResult execute(ModelRun& run, const hal::ExecuteOptions& options, bool allShapes) {
    const trace::Scope mark(trace::Layer::CPU, trace::Phase::EXECUTION, "execute");
    const WorkLimit limit{options.deadline, options.cancel};
    const bool limited = options.deadline || options.cancel.stop_possible();
    const WorkLimitScope scope(limited ? &limit : nullptr);
    run.giveArena(lendArena());
    hal::ExecutionResult result;
    try {
      result = run.run(options, allShapes);
    } catch (const WorkAbandoned&) {
      result.status = checkMayGoOn(options, ResultCode::MISSED_DEADLINE_TRANSIENT);
    } catch (const std::bad_alloc&) {
      result = outOfMemory();
    }
    finish(run);
    return result;
  }

  BlockPool::Block lendArena() {
    if (plan_->main.arenaBytes == 0) return {};
    const std::lock_guard lock(mutex_);
    return std::exchange(arena_, {});
  }

  void finish(ModelRun& run) {
    {
      const std::lock_guard lock(mutex_);
      peak_ = std::max(peak_, run.peakBytes());
      // One arena is kept, because fresh memory costs a page fault for every 4 KiB that an
      // execution touches.
      if (arena_.data() == nullptr) arena_ = run.takeArena();
    }
    run.releaseMemory();
  }

  const std::shared_ptr<const ExecutionPlan> plan_;
  ThreadPool* const threads_;
  mutable std::mutex mutex_;
  BlockPool::Block arena_;
  size_t peak_ = 0;
};

}  // namespace

Result<std::shared_ptr<Executor>> Executor::create(std::shared_ptr<const Model> model,
                                                   ThreadPool* pool,
                                                   std::shared_ptr<const KernelPatch> patch) {
  const trace::Scope mark(trace::Layer::CPU, trace::Phase::COMPILATION, "plan");
  HALYARD_ASSIGN_OR_RETURN(ExecutionPlan plan,
                           ExecutionPlan::make(std::move(model), ConstantReading::ALL,
                                               /*placesTemporaries=*/true, std::move(patch)));
  return create(std::make_shared<const ExecutionPlan>(std::move(plan)), pool);
}

std::shared_ptr<Executor> Executor::create(std::shared_ptr<const ExecutionPlan> plan,
                                           ThreadPool* pool) {
  return std::make_shared<PlanExecutor>(std::move(plan), pool);
}

}  // namespace halyard::cpu
