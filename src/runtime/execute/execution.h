// Execution, an ANeuralNetworksExecution: arguments for a compilation, and their results.
// Thread safety: one modifying thread at a time; several threads may call compute at once (one
// proceeds).
// Ownership: refers to the compilation and to the application's buffers, shares memory pools.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "runtime/compile/compilation.h"
#include "runtime/execute/burst.h"
#include "runtime/execute/event.h"
#include "runtime/memory/memory.h"
#include "runtime/memory/memory_arguments.h"
#include "runtime/run/plan_recording.h"

namespace halyard::runtime {

// The type given with an argument. Only its dimensions are used (the API's rule), but the rest must
// be valid by itself.
struct ArgumentType {
  OperandType type;
  Shape dimensions;
  float scale;
  int32_t zeroPoint;
};

class Execution {
 public:
  // `compilation` must be valid and outlive the execution.
  explicit Execution(const Compilation& compilation);
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  enum class Direction { INPUT, OUTPUT };
  // The first checks for setting an argument: the execution has not started, and the argument
  // exists.
  Status checkArgumentIndex(Direction direction, uint32_t index) const;
  // `type` may be null. `buffer` null with `length` 0 omits the argument.
  Status setArgument(Direction direction, uint32_t index, const ArgumentType* type, void* buffer,
                     size_t length);
  Status setArgumentFromMemory(Direction direction, uint32_t index, const ArgumentType* type,
                               const Memory& memory, size_t offset, size_t length);
  Status setReusable(bool reusable);
  Status enableInputAndOutputPadding(bool enable);
  Status setLoopTimeout(uint64_t nanoseconds);
  Status setMeasureTiming(bool measure);
  Status setTimeout(uint64_t nanoseconds);  // 0: none
  // See ExtensionAttributeList.
  Status addExtensionAttribute(const char* extensionName, uint16_t code, const void* data,
                               size_t length);

  Status compute();
  // Returns BAD_DATA for a burst of another compilation, BAD_STATE while it executes.
  Status computeIn(Burst& burst);
  // Returns errors that are known at once. The event reports the others.
  Result<std::unique_ptr<Event>> startCompute();
  // The same after all `dependencies` have ended. This call waits for those without a fence.
  // `duration` limits the time after that, in nanoseconds; 0: no limit. The execution counts as
  // running until the event is waited for, or destroyed. Returns OP_FAILED when a dependency
  // without a fence has failed.
  Result<std::unique_ptr<Event>> startComputeWithDependencies(std::span<Event* const> dependencies,
                                                              uint64_t duration);

  // Callable after compute. Returns OUTPUT_INSUFFICIENT_SIZE when that output was too small;
  // `dimensions` then has the known ones.
  Status outputDimensions(uint32_t index, Shape* dimensions) const;
  // `code`: ANEURALNETWORKS_DURATION_*. Gives UINT64_MAX when not available.
  Status duration(int32_t code, uint64_t* nanoseconds) const;
  bool computing() const;

 private:
  enum class State { PREPARATION, COMPUTATION, COMPLETED };
  enum class Completion { NONE, NO_ERROR, OUTPUT_INSUFFICIENT_SIZE, OTHER_ERROR };
  struct Argument {
    bool set = false;
    hal::RequestArgument request;
  };

  Status checkPreparation() const;
  // Checks index, type and earlier settings, and returns the operand.
  Result<const Operand*> checkArgument(Direction direction, uint32_t index,
                                       const ArgumentType* type, bool mayBePartial) const;
  void setMemory(Argument& argument, const hal::RequestPool& pool, uint32_t offset, uint32_t length,
                 const ArgumentType* type);
  bool fullySpecified(OperandType type, const Shape& shape) const;
  Status checkLength(const Operand& operand, const ArgumentType* type, size_t length) const;
  // Claims the execution for one computation, or returns the reason for refusal.
  Status begin(ExecutionMode mode);
  // Ends a computation with this status, releases the lock of mutex_, and tells the callback of
  // diagnostics. Returns the status.
  Status end(std::unique_lock<std::mutex> lock, Status status, const hal::Timing& timing = {});
  // Called after begin, when arguments do not change any more.
  const hal::Request& request();
  hal::ExecuteOptions options() const;
  // Runs in the burst, unless it is null.
  Status run(Burst* burst);
  hal::ExecutionResult runPlan(PlanBurst* burst);
  // Returns the dimensions known from model and argument.
  Shape dimensionsOf(Direction direction, size_t index) const;
  // Copies the report of the plan's run to the execution and its memories.
  Status finish(hal::ExecutionResult result);
  Result<std::unique_ptr<Event>> startFenced(const std::vector<int>& waitFor, uint64_t duration);
  // Called after begin. Not every execution allows a duration and open dimensions. Returns BAD_DATA
  // after ending the execution.
  Status checkFencedArguments(uint64_t duration);
  Result<std::unique_ptr<Event>> startedInVain(Status status, std::span<const int> waitFor);
  // Runs step by step after a fenced execution has failed because of `cause`.
  hal::ExecutionResult runAgain(const Status& cause);
  Status finishFenced(FenceState state, hal::FencedExecution& execution,
                      std::span<const UniqueFd> dependencies);
  // Runs in a thread of its own, after begin.
  Result<std::unique_ptr<Event>> startBegun();
  // Ends a computation that never began.
  Status abandon(Status status);
  void takeShapes(std::vector<hal::OutputShape> shapes);

  const Compilation& compilation_;
  mutable std::mutex mutex_;  // guards state_ and completion_
  State state_ = State::PREPARATION;
  Completion completion_ = Completion::NONE;
  bool reusable_ = false;
  bool paddingEnabled_ = false;
  bool argumentTouched_ = false;
  bool measureTiming_ = false;
  std::optional<bool> verifies_;              // of a running execution: whether it is verified
  ExecutionMode mode_ = ExecutionMode::SYNC;  // of the last computation
  std::optional<hal::TimePoint> began_;       // the same; only if callbacks are registered
  uint64_t timeout_ = 0;
  ExtensionAttributeList attributes_;
  std::optional<std::chrono::nanoseconds> loopTimeout_;
  std::vector<Argument> inputs_;
  std::vector<Argument> outputs_;
  std::vector<hal::RequestPool> pools_;
  MemoryArguments memories_;
  std::optional<hal::Request> request_;
  PlanRecording recording_;  // of request_, for a reusable execution
  std::vector<hal::OutputShape> outputShapes_;
  hal::Timing timing_;
  hal::Timing fencedTiming_;  // equal without fences
  bool timingKnown_ = false;  // false if the device could not be asked
};

}  // namespace halyard::runtime
