#include "runtime/run/plan_runner.h"

#include <algorithm>

#include "base/verbose_log.h"

#include "runtime/run/plan_execution.h"
#include "runtime/run/plan_recording.h"
#include "trace/trace_context.h"

namespace halyard::runtime {
namespace {

// The runtime measures only some executions of simple plans, because reading the clock takes time.
constexpr uint32_t kMeasuredAtFirst = 16;
constexpr uint32_t kMeasuredLater = 64;

bool mayHaveShapes(const Status& status) {
  return status.ok() || status.code() == ResultCode::OUTPUT_INSUFFICIENT_SIZE;
}

// Computes the whole model, or a step that is the whole model, with the request of the application.
// Buffers that `by` does not know are replaced.
Status attemptWhole(const RunArguments& arguments, const hal::ExecuteOptions& options,
                    const PreparedStep& by, PlanBurst* steps, hal::ExecutionResult* result) {
  const bool isStaged = TokenStaging::isNeeded(arguments.memories, *by.prepared, arguments.request);
  if (!isStaged && arguments.recording != nullptr) {
    *result = arguments.recording->compute(by.prepared, steps, arguments.request, options);
    return result->status;
  }
  hal::Burst* const burst = steps == nullptr ? nullptr : steps->of(0, by.prepared);
  if (!isStaged) {
    *result = executeOn(*by.prepared, burst, arguments.request, options);
  } else {
    hal::Request request = arguments.request;
    HALYARD_ASSIGN_OR_RETURN(const TokenStaging staging,
                             TokenStaging::stage(arguments.memories, *by.prepared, &request));
    *result = executeOn(*by.prepared, burst, request, options);
    if (result->status.ok()) result->status = staging.copyBack(result);
  }
  return result->status;
}

}  // namespace

hal::ExecutionResult withShapes(hal::ExecutionResult result) {
  if (result.status.code() == ResultCode::OUTPUT_INSUFFICIENT_SIZE && result.outputShapes.empty()) {
    result.status = opFailed("the device found an output too small without saying which");
  }
  return result;
}

hal::ExecutionResult executeOn(hal::PreparedModel& prepared, hal::Burst* burst,
                               const hal::Request& request, const hal::ExecuteOptions& options) {
  return withShapes(burst != nullptr ? burst->execute(request, options)
                                     : prepared.executeSynchronously(request, options));
}

PlanRunner::PlanRunner(std::shared_ptr<const Plan> plan, PlanContext context)
    : plan_(std::move(plan)),
      recovery_(*plan_, std::move(context)),
      sizes_(operandSizes(model(), recovery_.context().devices)),
      layout_(plan_->simple || !plan_->whyNever.ok() ? RunLayout()
                                                     : RunLayout::make(model(), *plan_, sizes_)),
      memories_(layout_.main.bytes, layout_.growing),
      constantPools_(model().pools.begin(), model().pools.end()) {}

void PlanRunner::addMeasurement(size_t step, hal::Clock::duration duration,
                                uint64_t copiedBytes) const {
  Report* const report = recovery_.context().report.get();
  if (report == nullptr) return;
  report->addMeasurement(step, std::chrono::duration<double, std::nano>(duration).count(),
                         copiedBytes);
}

void PlanRunner::placeOnDevices(RunMemory& memory) const {
  memory.onDevice.resize(layout_.onDevice.size());
  for (size_t i = 0; i < layout_.onDevice.size(); ++i) {
    const DeviceValue& value = layout_.onDevice[i];
    const PreparedStepPtr writer = recovery_.current(value.writer.step);
    if (memory.onDevice[i].writer == writer) continue;
    memory.onDevice[i] = {writer, bufferFor(value)};
  }
}

std::shared_ptr<DescribedMemory> PlanRunner::bufferFor(const DeviceValue& value) const {
  const Device* const device = plan_->steps[value.writer.step].device;
  std::vector<std::shared_ptr<hal::PreparedModel>> models;
  bool isPlanned = true;
  const auto roleOf = [&](const DeviceValue::Use& use) -> hal::BufferRole {
    const PreparedStepPtr by = recovery_.current(use.step);
    isPlanned = isPlanned && by->device == device;
    const auto it = std::ranges::find(models, by->prepared);
    const auto index = static_cast<uint32_t>(it - models.begin());
    if (it == models.end()) models.push_back(by->prepared);
    return {index, use.index, 1.0F};
  };
  const hal::BufferRole outputs[] = {roleOf(value.writer)};
  std::vector<hal::BufferRole> inputs;
  for (const DeviceValue::Use& reader : value.readers) inputs.push_back(roleOf(reader));
  if (!isPlanned) return nullptr;
  const Operand& operand = layout_.main.subgraph->operands[value.operand];
  auto buffer = device->hal().allocate(operand.dimensions, models, inputs, outputs);
  if (!buffer.ok() || *buffer == nullptr || (*buffer)->token() == 0) {
    vlog(VlogTag::MEMORY, "device {}: {} goes through shared memory: {}", device->name(),
         operandText(operand), buffer.status().toString());
    return nullptr;
  }
  return std::make_shared<DescribedMemory>(MemoryDescription{operand, operand.dimensions, {}, {}},
                                           std::shared_ptr<hal::Buffer>(std::move(*buffer)),
                                           models);
}

std::string PlanRunner::stepText(size_t step, const Device& device) const {
  if (plan_->simple) return fmt::format("device {}", device.name());
  return fmt::format("partition {} on device {}", step, device.name());
}

hal::ExecutionResult PlanRunner::run(const RunArguments& arguments,
                                     const hal::ExecuteOptions& options, PlanBurst* burst) {
  if (!plan_->whyNever.ok()) return {plan_->whyNever, {}, {}};
  hal::ExecutionResult result;
  if (plan_->simple) {
    result = runSimple(arguments, options, burst);
    if (isFinal(result.status)) return result;
  } else {
    result = PlanExecution(*this, arguments, options, burst).run();
    if (isFinal(result.status)) return result;
    // An invalid request fails on each device.
    if (!hal::validateRequest(model(), arguments.request, true).ok()) return result;
    result.status = recovery_.computeOnCpu(std::move(result.status), [&](const PreparedStep& by) {
      const StepMark mark(*this, std::nullopt, *by.device);
      return attemptWhole({arguments.request, arguments.memories}, options, by, nullptr, &result);
    });
    result.timing = {};
  }
  if (!mayHaveShapes(result.status)) result.outputShapes.clear();
  return result;
}

bool PlanRunner::measuresNext() {
  const uint32_t run = simpleRuns_.fetch_add(1, std::memory_order_relaxed);
  return run < kMeasuredAtFirst || run % kMeasuredLater == 0;
}

hal::ExecutionResult PlanRunner::runSimple(const RunArguments& arguments,
                                           const hal::ExecuteOptions& options, PlanBurst* burst) {
  const PreparedStepPtr by = recovery_.current(0);
  hal::ExecutionResult result;
  const bool isMeasured = measuresNext();
  const auto attempt = [&](const PreparedStep& step) {
    const StepMark mark(*this, 0, *step.device);
    const hal::TimePoint started = isMeasured ? hal::Clock::now() : hal::TimePoint();
    Status status = attemptWhole(arguments, options, step, burst, &result);
    if (status.ok()) {
      if (isMeasured && recovery_.asPlanned(0, step)) {
        addMeasurement(0, hal::Clock::now() - started, result.copiedBytes);
      }
      return status;
    }
    status.annotate(stepText(0, *step.device));
    return status;
  };
  Status status = StepRecovery::checkUsable(*by);
  if (status.ok()) status = attempt(*by);
  if (!isFinal(status) && hal::validateRequest(model(), arguments.request, true).ok()) {
    status = recovery_.recover(0, by, std::move(status), attempt);
  }
  result.status = std::move(status);
  return result;
}

StepMark::StepMark(const PlanRunner& runner, std::optional<size_t> step, const Device& device)
    : text_(!trace::isActive() ? std::string()
            : step.has_value() ? runner.stepText(*step, device)
                               : fmt::format("the whole model on device {}", device.name())),
      scope_(trace::Layer::RUNTIME, trace::Phase::EXECUTION, text_,
             {.context = traceContext(runner.recovery().context().compilation, step)}) {}

PlanBurst::PlanBurst(const PlanRunner& runner)
    : id_([] {
        static std::atomic<uint64_t> last = 0;
        return ++last;
      }()) {
  for (size_t i = 0; i < runner.plan().steps.size(); ++i) {
    bursts_.push_back(open(runner.recovery().current(i)->prepared));
  }
}

PlanBurst::StepBurst PlanBurst::open(const std::shared_ptr<hal::PreparedModel>& prepared) {
  StepBurst result{prepared, nullptr};
  auto burst = prepared->configureBurst();
  if (burst.ok()) result.burst = std::move(*burst);
  return result;
}

hal::Burst* PlanBurst::of(size_t step, const std::shared_ptr<hal::PreparedModel>& prepared) {
  StepBurst& own = bursts_[step];
  if (own.prepared != prepared) own = open(prepared);
  return own.burst.get();
}

}  // namespace halyard::runtime
