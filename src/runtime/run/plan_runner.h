// PlanRunner: the state that all executions of one compilation share.
// It has the plan, the device that computes each step now, and memory for the values between steps.
// Thread safety: all methods may be called from any thread.
// Ownership: shares the plan and owns the memory of runs. The devices must outlive it.
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

// The request of one execution for the whole model. It also has the memories made from descriptors
// whose tokens are in the request.
struct RunArguments {
  const hal::Request& request;
  const MemoryArguments& memories;
  // For a request that is computed repeatedly; otherwise null. No other run may use it at the same
  // time.
  PlanRecording* recording = nullptr;
};

class PlanRunner {
 public:
  // The steps of the plan must be prepared.
  PlanRunner(std::shared_ptr<const Plan> plan, PlanContext context);
  PlanRunner(const PlanRunner&) = delete;
  PlanRunner& operator=(const PlanRunner&) = delete;

  // Runs the plan once. With OK or OUTPUT_INSUFFICIENT_SIZE, the result has no shapes or one shape
  // for each output. Each shape agrees with the dimensions that were known before. `burst` may be
  // null. No other thread may use it at the same time.
  hal::ExecutionResult run(const RunArguments& arguments, const hal::ExecuteOptions& options,
                           PlanBurst* burst);

  const Plan& plan() const { return *plan_; }
  const Model& model() const { return *recovery_.context().model; }
  StepRecovery& recovery() { return recovery_; }
  const StepRecovery& recovery() const { return recovery_; }
  const hal::OperandSizes& sizes() const { return sizes_; }
  // For compound plans only.
  const RunLayout& layout() const { return layout_; }
  RunMemoryPool& memories() { return memories_; }
  // Allocates buffers for the values that stay on a device, unless the memory has them already.
  void placeOnDevices(RunMemory& memory) const;
  // Request pools for the pools of the model. IF and WHILE pass constants in them to their
  // subgraphs.
  const hal::RequestPool& constantPool(uint32_t index) const { return constantPools_[index]; }
  // Call this after the planned device has computed a step.
  void addMeasurement(size_t step, hal::Clock::duration duration, uint64_t copiedBytes) const;
  // The context of an error in a step.
  std::string stepText(size_t step, const Device& device) const;

 private:
  hal::ExecutionResult runSimple(const RunArguments& arguments, const hal::ExecuteOptions& options,
                                 PlanBurst* burst);

  bool measuresNext();
  // Null when the device makes no buffer, or when another device computes one of the steps now.
  std::shared_ptr<DescribedMemory> bufferFor(const DeviceValue& value) const;

  const std::shared_ptr<const Plan> plan_;
  StepRecovery recovery_;
  const hal::OperandSizes sizes_;
  const RunLayout layout_;
  RunMemoryPool memories_;
  std::vector<hal::RequestPool> constantPools_;
  std::atomic<uint32_t> simpleRuns_ = 0;
};

// Marks the execution of a step in a trace, from construction to destruction.
// Thread safety: one thread at a time. Ownership: owns its text.
class StepMark {
 public:
  // nullopt: the execution of the whole model, without a division into steps.
  StepMark(const PlanRunner& runner, std::optional<size_t> step, const Device& device);

 private:
  const std::string text_;
  const trace::Scope scope_;
};

// The bursts of one ANeuralNetworksBurst, one for each step.
// Thread safety: one thread at a time. Ownership: owns the bursts, shares the prepared models.
class PlanBurst {
 public:
  // Opens the bursts of all steps whose devices support bursts. Other steps run without a burst.
  explicit PlanBurst(const PlanRunner& runner);

  // Never 0 and unique among all PlanBurst objects.
  uint64_t id() const { return id_; }
  // Null when the device has no burst. When another device or process now computes the step, this
  // opens a burst there.
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

// The result of a device, with a status that fits its shapes. A driver before HAL 1.2 does not
// report which output is too small. The status is then OP_FAILED.
hal::ExecutionResult withShapes(hal::ExecutionResult result);
// Executes `prepared` in the burst, or without one if `burst` is null.
hal::ExecutionResult executeOn(hal::PreparedModel& prepared, hal::Burst* burst,
                               const hal::Request& request, const hal::ExecuteOptions& options);

}  // namespace halyard::runtime
