// PlanRunner: what the executions of one compilation share: its plan, who computes the steps now,
// and memory for what goes from one step to the next.
// Thread safety: all methods may be called from any thread.
// Ownership: shares the plan, owns the memory of runs; the devices must outlive it.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "hal/checks/operand_sizes.h"
#include "halyard/driver/trace.h"
#include "runtime/memory/memory_arguments.h"
#include "runtime/run/frame_plan.h"
#include "runtime/run/run_memory.h"
#include "runtime/run/step_recovery.h"

namespace halyard::runtime {

class PlanBurst;
class PlanRecording;

// One execution's request for the whole model, and the memories made from descriptors whose tokens
// are in it.
struct RunArguments {
  const hal::Request& request;
  const MemoryArguments& memories;
  // Of a request that is computed again and again. Otherwise null. No other run uses it meanwhile.
  PlanRecording* recording = nullptr;
};

class PlanRunner {
 public:
  // The steps of the plan must be prepared.
  PlanRunner(std::shared_ptr<const Plan> plan, PlanContext context);
  PlanRunner(const PlanRunner&) = delete;
  PlanRunner& operator=(const PlanRunner&) = delete;

  // Runs the plan once. With OK or OUTPUT_INSUFFICIENT_SIZE there are no shapes at all, or there is
  // one for each output, which agrees with what was known of it. `burst` may be null; otherwise
  // nobody else uses it meanwhile.
  hal::ExecutionResult run(const RunArguments& arguments, const hal::ExecuteOptions& options,
                           PlanBurst* burst);

  const Plan& plan() const { return *plan_; }
  const Model& model() const { return *recovery_.context().model; }
  StepRecovery& recovery() { return recovery_; }
  const StepRecovery& recovery() const { return recovery_; }
  const hal::OperandSizes& sizes() const { return sizes_; }
  // Of compound plans.
  const RunLayout& layout() const { return layout_; }
  RunMemoryPool& memories() { return memories_; }
  // Request pools for the model's own, for constants that IF and WHILE hand to their subgraphs.
  const hal::RequestPool& constantPool(uint32_t index) const { return constantPools_[index]; }
  // A step has been computed by the device that the plan has for it.
  void addMeasurement(size_t step, hal::Clock::duration duration) const;
  // Context for an error of a step.
  std::string stepText(size_t step, const Device& device) const;

 private:
  hal::ExecutionResult runSimple(const RunArguments& arguments, const hal::ExecuteOptions& options,
                                 PlanBurst* burst);

  bool measuresNext();

  const std::shared_ptr<const Plan> plan_;
  StepRecovery recovery_;
  const hal::OperandSizes sizes_;
  const RunLayout layout_;
  RunMemoryPool memories_;
  std::vector<hal::RequestPool> constantPools_;
  std::atomic<uint32_t> simpleRuns_ = 0;
};

// A step's execution in a trace, as long as it lives.
// Thread safety: one thread. Ownership: owns its text.
class StepMark {
 public:
  // nullopt: the model as a whole, in the stead of its steps.
  StepMark(const PlanRunner& runner, std::optional<size_t> step, const Device& device);

 private:
  const std::string text_;
  const trace::Scope scope_;
};

// The bursts of one ANeuralNetworksBurst, one for each step.
// Thread safety: none. Ownership: owns the bursts, shares the prepared models.
class PlanBurst {
 public:
  // Opens the bursts of all steps that have some; the others are computed without.
  explicit PlanBurst(const PlanRunner& runner);

  // Never 0, and never that of another PlanBurst.
  uint64_t id() const { return id_; }
  // Null when the device has none. A step that is computed by another device, or another process,
  // than the last time gets a burst there.
  hal::Burst* of(size_t step, const std::shared_ptr<hal::PreparedModel>& prepared);

 private:
  struct StepBurst {
    std::shared_ptr<hal::PreparedModel> prepared;
    std::unique_ptr<hal::Burst> burst;
  };
  static StepBurst open(const std::shared_ptr<hal::PreparedModel>& prepared);

  const uint64_t id_;
  std::vector<StepBurst> bursts_;
};

// A result of a device. A driver before HAL 1.2 does not say which output is too small: OP_FAILED.
hal::ExecutionResult withShapes(hal::ExecutionResult result);
// `prepared`'s execution in the burst, or without if it is null.
hal::ExecutionResult executeOn(hal::PreparedModel& prepared, hal::Burst* burst,
                               const hal::Request& request, const hal::ExecuteOptions& options);

}  // namespace halyard::runtime
