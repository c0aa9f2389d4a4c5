// PlanExecution: one run of a compound plan.
// Thread safety: one thread at a time. Ownership: borrows its arguments. It takes the memory of the
// run from the pool of the runner and returns it there.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "runtime/run/plan_runner.h"
#include "runtime/run/token_staging.h"

namespace halyard::runtime {

// The place of a value, which may not be written yet.
struct Place {
  enum class Kind : uint8_t {
    OMITTED,
    POINTER,    // `pointer`, `length` bytes
    POOL,       // `length` bytes at `offset` of `pool`; both 0: the whole pool
    TEMPORARY,  // `length` bytes at `offset` of the block of the run
    GROWING,    // growing value `index` of the run
  };
  Kind kind = Kind::OMITTED;
  void* pointer = nullptr;  // not written if the value is an input
  const hal::RequestPool* pool = nullptr;
  uint32_t offset = 0;
  uint32_t length = 0;
  uint32_t index = 0;
};

struct Value {
  Place place;
  Shape known;       // dimensions known before the computation; empty: those of the operand in the
                     // subgraph
  Shape dimensions;  // dimensions after the computation; empty: the same as before
  // The position among the outputs of the model, if the value is one of them.
  std::optional<uint32_t> output;
  bool isOnDevice = false;  // its step has written it to its buffer, not to its place
};

// One run of the sequence of a subgraph.
struct Frame {
  const FramePlan* plan = nullptr;
  uint32_t base = 0;  // offset in the block of the run
  std::vector<Value> values;
};

class PlanExecution {
 public:
  PlanExecution(PlanRunner& runner, const RunArguments& arguments,
                const hal::ExecuteOptions& options, PlanBurst* burst);
  ~PlanExecution();
  PlanExecution(const PlanExecution&) = delete;
  PlanExecution& operator=(const PlanExecution&) = delete;

  hal::ExecutionResult run();

  // For fenced executions, where all values have known sizes. prepareMain() makes the main frame.
  // requestFor() returns the request for a step.
  Status prepareMain();
  Result<hal::Request> requestFor(size_t node);
  // The caller states that all results are written and that no device writes to the memory of the
  // run any more.
  void setDone() { reusable_ = true; }

 private:
  // Makes the frame and the places of its temporary and constant values. The caller binds inputs
  // and outputs.
  Frame makeFrame(const FramePlan& plan, uint32_t base) const;
  void bindMain();
  Place constantPlace(const Operand& operand) const;
  Place slotPlace(const TemporarySlot& slot, uint32_t base) const;
  Value argumentValue(const hal::RequestArgument& argument) const;

  // An output that later nodes read, but whose memory is not readable. The run computes it in other
  // memory and copies it at the end.
  struct Shadow {
    uint32_t value = 0;  // index of the value of the main frame
    Place target;
  };
  Status copyShadows();

  Status runSequence(Frame& frame);
  Status checkMayGoOn(bool begun) const;

  Status runStep(Frame& frame, const FrameNode& node);
  Status attempt(Frame& frame, const FrameNode& node, const PreparedStep& by);
  hal::ExecutionResult computeStep(size_t step, const PreparedStep& by, const hal::Request& request,
                                   bool isStaged);
  // The request for the step. Reserves memory for outputs of unknown size. Values stay on the
  // device if `by`, which may be null, knows their buffers.
  Result<hal::Request> requestFor(Frame& frame, const FrameNode& node, const PreparedStep* by);
  uint32_t addPool(const hal::RequestPool& pool, hal::Request* request) const;
  Result<hal::RequestArgument> argumentFor(Frame& frame, uint32_t value, const Operand& operand,
                                           bool isOutput, const PreparedStep* by,
                                           hal::Request* request) const;
  // The buffer of a value, if `by` knows it; or null.
  const DescribedMemory* bufferOf(const Frame& frame, uint32_t value, const PreparedStep* by) const;
  // Copies a value from its buffer to its place in the block, for another device.
  Status bringFromDevice(Frame& frame, uint32_t value) const;
  // Takes over the output shapes that the device reports. False: the caller must run the step
  // again, with more memory.
  Result<bool> takeResult(Frame& frame, const FrameNode& node, const hal::ExecutionResult& result);
  // Reserves more memory for a growing value that was too small.
  Status enlarge(const Value& value, const Operand& operand, const Shape& needed);
  // OP_FAILED when another node reads an output that has no elements. No request can contain such a
  // value.
  Status checkNotEmpty(const Frame& frame, const FrameNode& node);

  // In plan_control_flow.cc.
  Status runBranch(Frame& frame, const FrameNode& node);
  Status runLoop(Frame& frame, const FrameNode& node);
  // The values that the operation reads from input `first` on, with all known dimensions.
  static std::vector<Value> inputValues(const Frame& frame, const FrameNode& node, size_t first);
  Status runIterations(const Frame& frame, const FrameNode& node, std::vector<Value>* state);
  Result<bool> runCondition(const Frame& frame, const FrameNode& node,
                            const std::vector<Value>& state);
  // Replaces the values of the loop by the results of one run of the body.
  Status runBody(const Frame& frame, const FrameNode& node, uint64_t iteration,
                 std::vector<Value>* state);
  // The bytes of a computed value, or of a place of at least `bytes`.
  struct Bytes {
    uint8_t* data = nullptr;
    CpuAccess access;
    // A driver's buffer. After a write the caller copies `staging` to it.
    std::shared_ptr<DescribedMemory> described;
    SharedMemoryPtr staging;
  };
  Result<Bytes> bytesAt(const Place& place, size_t bytes, bool writes) const;
  Result<bool> readCondition(const Place& place) const;
  // Copies a value of the loop to output `to` of the operation.
  Status copyOut(const Value& from, const Operand& operand, Frame& frame, uint32_t to);
  // Fails with OUTPUT_INSUFFICIENT_SIZE, and marks the output, when an output of the model is too
  // large for its place.
  Status copyBytes(const Place& from, const Place& to, const Operand& operand,
                   const Shape& dimensions, std::optional<uint32_t> output);

  static const Operand& operandOf(const Frame& frame, uint32_t value) {
    return frame.plan->subgraph->operands[frame.plan->values[value].operand];
  }
  // The dimensions of a value, as far as they are known.
  static const Shape& dimensionsOf(const Frame& frame, uint32_t index) {
    const Value& value = frame.values[index];
    if (!value.dimensions.empty()) return value.dimensions;
    return value.known.empty() ? operandOf(frame, index).dimensions : value.known;
  }
  uint32_t lengthOf(const Place& place) const {
    return place.kind == Place::Kind::GROWING ? memory_->capacity(place.index) : place.length;
  }

  PlanRunner& runner_;
  const RunArguments& arguments_;
  const hal::ExecuteOptions& options_;
  PlanBurst* const burst_;
  std::unique_ptr<RunMemory> memory_;
  bool reusable_ = false;
  Frame main_;
  std::vector<hal::OutputShape> outputs_;
  std::vector<Shadow> shadows_;
  // Only the CPU device can compute the model with these values. No step is at fault.
  bool needsWholeModel_ = false;
};

}  // namespace halyard::runtime
