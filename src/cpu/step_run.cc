// Binding sets pointers; running executes step after step.
#include "cpu/step_run.h"

#include <utility>

#include "base/work_limit.h"
#include "cpu/control_flow_run.h"
#include "halyard/driver/trace.h"

namespace halyard::cpu {
namespace {

// Of one thread. Loops that check the limit of the work do so about as often (base/work_limit.h).
constexpr std::chrono::microseconds kShortStep{400};

// The values that control flow has made. Their memory returns to the execution's blocks.
struct Values {
  explicit Values(BlockPool& pool) : blocks(pool) {}
  ~Values() {
    for (RunValue& value : list) blocks.release(std::move(value.block));
  }
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;

  BlockPool& blocks;
  std::vector<RunValue> list;
};

}  // namespace

StepRun::StepRun(const SubgraphPlan& plan)
    : plan_(plan),
      steps_(*plan.steps),
      views_(steps_.steps.size()),
      isShort_(steps_.steps.size()),
      inputCopies_(steps_.copiesInput.size()),
      outputs_(plan.subgraph->outputIndexes.size()) {
  data_.reserve(plan.tensors.size());
  for (const ops::Tensor& tensor : plan.tensors) data_.push_back(tensor.data);
  for (size_t i = 0; i < views_.size(); ++i) {
    const Step& step = steps_.steps[i];
    if (step.kernel != nullptr) continue;
    for (uint32_t operand : step.inputs) views_[i].inputs.push_back(plan.tensors[operand]);
    for (uint32_t operand : step.outputs) views_[i].outputs.push_back(plan.tensors[operand]);
  }
}

void StepRun::bindArena(std::byte* arena) {
  if (arena == arena_) return;
  arena_ = arena;
  for (size_t operand = 0; operand < data_.size(); ++operand) {
    const std::optional<size_t> offset = steps_.places.offsets[operand];
    if (offset) data_[operand] = arena + *offset;
  }
}

void StepRun::bindInput(size_t i, void* data, bool shared) {
  const uint32_t operand = plan_.subgraph->inputIndexes[i];
  data_[operand] = data;
  if (!shared || !steps_.copiesInput[i]) return;
  const size_t bytes = byteSizeOf(plan_.tensors[operand]);
  BlockPool::Block& copy = inputCopies_[i];
  if (copy.data() == nullptr) copy = BlockPool::allocate(bytes);
  copyInChunks(copy.data(), data, bytes);
  data_[operand] = copy.data();
}

void StepRun::bindOutput(size_t i, void* data) {
  const uint32_t operand = plan_.subgraph->outputIndexes[i];
  outputs_[i] = data;
  if (!steps_.places.offsets[operand]) data_[operand] = data;
}

Status StepRun::run(const RunServices& services, std::vector<std::chrono::nanoseconds>* times) {
  const std::vector<Operation>& operations = plan_.subgraph->operations;
  const auto textOf = [&](const Step& step) {
    return operationText(step.operation, operations[step.operation].type);
  };
  const uint32_t number = services.plan.numberOf(plan_);
  if (times != nullptr) times->resize(steps_.steps.size());
  for (const Step& step : steps_.steps) {
    HALYARD_RETURN_IF_ERROR(checkMayGoOn(*services.options, ResultCode::MISSED_DEADLINE_TRANSIENT),
                            "before {}", textOf(step));
    const auto index = static_cast<size_t>(&step - steps_.steps.data());
    const std::string name =
        trace::isActive() ? operationTypeName(operations[step.operation].type) : std::string();
    const trace::Scope mark(
        trace::Layer::DRIVER, trace::Phase::COMPUTATION, name,
        {.operation = static_cast<int32_t>(step.operation), .subgraph = number});
    const bool isShort = isShort_[index];
    const WorkLimitScope scope(isShort ? nullptr : currentWorkLimit());
    const bool isTimed = times != nullptr || !isShort;
    const hal::TimePoint started = isTimed ? hal::Clock::now() : hal::TimePoint();
    Status status = runStep(step, index, services);
    services.kernels.reset();
    if (isTimed) {
      const hal::Clock::duration taken = hal::Clock::now() - started;
      if (times != nullptr) (*times)[index] += taken;
      // The time of a kernel depends on the operands' dimensions, not on their values. Another run
      // may have only one of the threads.
      const bool isShortInOneThread = taken * services.kernels.threads() < kShortStep;
      if (status.ok() && step.kernel != nullptr && isShortInOneThread) isShort_[index] = true;
    }
    HALYARD_RETURN_IF_ERROR(std::move(status), "{}", textOf(step));
  }
  deliver();
  return okStatus();
}

Status StepRun::runStep(const Step& step, size_t index, const RunServices& services) {
  try {
    if (step.kernel != nullptr) {
      return step.kernel->run({data_.data(), step.sources, step.outputs}, services.kernels);
    }
    View& view = views_[index];
    for (size_t i = 0; i < view.inputs.size(); ++i) view.inputs[i].data = data_[step.sources[i]];
    const bool isControlFlow =
        plan_.definitions[step.operation]->controlFlow != ops::ControlFlow::NONE;
    return isControlFlow ? runControlFlow(step, view, services)
                         : runReference(step, view, services);
  } catch (const WorkAbandoned&) {
    return checkMayGoOn(*services.options, ResultCode::MISSED_DEADLINE_TRANSIENT);
  }
}

Status StepRun::runReference(const Step& step, View& view, const RunServices& services) {
  for (size_t i = 0; i < view.outputs.size(); ++i) view.outputs[i].data = data_[step.outputs[i]];
  ops::OperationContext context(view.inputs, view.outputs, &services.kernels);
  return asFailure(ops::runReference(*plan_.definitions[step.operation], context));
}

Status StepRun::runControlFlow(const Step& step, View& view, const RunServices& services) {
  Values values(services.blocks);
  HALYARD_RETURN_IF_ERROR(
      cpu::runControlFlow(plan_, step.operation, services, view.inputs, &values.list));
  for (size_t i = 0; i < values.list.size(); ++i) {
    const ops::Tensor& value = values.list[i].tensor;
    const uint32_t operand = step.outputs[i];
    HALYARD_RETURN_IF_ERROR(mergeDims(value.dims, &view.outputs[i]), "output {} (operand #{})", i,
                            operand);
    copyInChunks(data_[operand], value.data, byteSizeOf(value));
  }
  return okStatus();
}

void StepRun::deliver() {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const uint32_t operand = plan_.subgraph->outputIndexes[i];
    if (!steps_.places.offsets[operand]) continue;
    copyInChunks(outputs_[i], data_[operand], byteSizeOf(plan_.tensors[operand]));
  }
}

}  // namespace halyard::cpu
