// The executor: a plan, and a run for each execution.
#include "cpu/executor.h"

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
      return ModelRun(plan_, threads_, options, inputs, outputs).run();
    } catch (const std::bad_alloc&) {
      return {Status(ResultCode::OUT_OF_MEMORY, "the CPU executor ran out of memory"), {}, {}};
    }
  }

 private:
  const ExecutionPlan plan_;
  ThreadPool* const threads_;
};

}  // namespace

Result<std::shared_ptr<Executor>> Executor::create(std::shared_ptr<const Model> model,
                                                   ThreadPool* pool) {
  HALYARD_ASSIGN_OR_RETURN(ExecutionPlan plan, ExecutionPlan::make(std::move(model)));
  return std::shared_ptr<Executor>(std::make_shared<PlanExecutor>(std::move(plan), pool));
}

}  // namespace halyard::cpu
