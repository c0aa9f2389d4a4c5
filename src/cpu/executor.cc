// The executor: a plan, and a run for each execution.
#include "cpu/executor.h"

#include <algorithm>
#include <mutex>

#include "base/work_limit.h"
#include "cpu/execution_plan.h"
#include "cpu/model_run.h"

namespace halyard::cpu {
namespace {

class PlanExecutor : public Executor {
 public:
  PlanExecutor(ExecutionPlan plan, ThreadPool* threads)
      : plan_(std::move(plan)), threads_(threads) {}

  hal::ExecutionResult execute(std::span<const Argument> inputs, std::span<const Argument> outputs,
                               const hal::ExecuteOptions& options) override {
    try {
      const WorkLimit limit{options.deadline, options.cancel};
      const bool limited = options.deadline || options.cancel.stop_possible();
      const WorkLimitScope scope(limited ? &limit : nullptr);
      ModelRun run(plan_, threads_, options, inputs, outputs);
      run.giveArena(lendArena());
      hal::ExecutionResult result = run.run();
      finish(run);
      return result;
    } catch (const WorkAbandoned&) {
      return {checkMayGoOn(options, ResultCode::MISSED_DEADLINE_TRANSIENT), {}, {}};
    } catch (const std::bad_alloc&) {
      return {Status(ResultCode::OUT_OF_MEMORY, "the CPU executor ran out of memory"), {}, {}};
    }
  }

  MemoryUse memoryUse() const override {
    const std::lock_guard lock(mutex_);
    return {plan_.main.arenaBytes, peak_};
  }

 private:
  BlockPool::Block lendArena() {
    const std::lock_guard lock(mutex_);
    return std::exchange(arena_, {});
  }

  void finish(ModelRun& run) {
    const std::lock_guard lock(mutex_);
    peak_ = std::max(peak_, run.peakBytes());
    // One is kept: fresh memory costs a page fault for every 4 KiB that an execution touches.
    if (arena_.data() == nullptr) arena_ = run.takeArena();
  }

  const ExecutionPlan plan_;
  ThreadPool* const threads_;
  mutable std::mutex mutex_;
  BlockPool::Block arena_;
  size_t peak_ = 0;
};

}  // namespace

Result<std::shared_ptr<Executor>> Executor::create(std::shared_ptr<const Model> model,
                                                   ThreadPool* pool) {
  HALYARD_ASSIGN_OR_RETURN(ExecutionPlan plan, ExecutionPlan::make(std::move(model)));
  return std::shared_ptr<Executor>(std::make_shared<PlanExecutor>(std::move(plan), pool));
}

}  // namespace halyard::cpu
