// PlanExecution: one run of a compound plan.
// Thread safety: used by one thread. Ownership: borrows everything but the memory of the run, which
// it takes from the runner's pool and gives back.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "runtime/run/plan_runner.h"
#include "runtime/run/token_staging.h"

namespace halyard::runtime {

// Where a value is, or is to be written.
struct Place {
  enum class Kind : uint8_t {
    OMITTED,
    POINTER,    // `pointer`, `length` bytes
    POOL,       // `length` bytes at `offset` of `pool`; both 0: all of it
    TEMPORARY,  // `length` bytes at `offset` of the run's block
    GROWING,    // the run's growing value `index`
  };
  Kind kind = Kind::OMITTED;
  void* pointer = nullptr;  // never written through for an input
  const hal::RequestPool* pool = nullptr;
  uint32_t offset = 0;
  uint32_t length = 0;
  uint32_t index = 0;
};

struct Value {
  Place place;
  Shape known;       // before it has been computed; empty where the subgraph's operand says all
  Shape dimensions;  // once it has been computed; empty where that says nothing new
  // The output of the whole model that it is.
  std::optional<uint32_t> output;
};

// One run of a subgraph's sequence.
struct Frame {
  const FramePlan* plan = nullptr;
  uint32_t base = 0;  // in the run's block
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

  // For fenced executions: the main frame, and the request for a step, whose values all have known
  // sizes.
  Status prepareMain();
  Result<hal::Request> requestFor(size_t node);
  // Everything has been written, and nobody writes to the run's memory any more.
  void setDone() { reusable_ = true; }

 private:
  // Makes the frame and the places of what it makes itself. Inputs and outputs are the caller's to
  // bind.
  Frame makeFrame(const FramePlan& plan, uint32_t base) const;
  void bindMain();
  Place constantPlace(const Operand& operand) const;
  Place slotPlace(const TemporarySlot& slot, uint32_t base) const;
  Value argumentValue(const hal::RequestArgument& argument) const;

  // Outputs that are read but lie in memory that may not be: they are computed elsewhere, and
  // brought there in the end.
  struct Shadow {
    uint32_t value = 0;  // of the main frame
    Place target;
  };
  Status copyShadows();

  Status runSequence(Frame& frame);
  Status checkMayGoOn(bool begun) const;

  Status runStep(Frame& frame, const FrameNode& node);
  Status attempt(Frame& frame, const FrameNode& node, const PreparedStep& by);
  hal::ExecutionResult computeStep(size_t step, const PreparedStep& by,
                                   const hal::Request& request);
  // The step's request; places of unknown size get memory.
  Result<hal::Request> requestFor(Frame& frame, const FrameNode& node);
  uint32_t addPool(const hal::RequestPool& pool, hal::Request* request) const;
  Result<hal::RequestArgument> argumentFor(const Frame& frame, uint32_t value,
                                           const Operand& operand, bool isOutput,
                                           hal::Request* request) const;
  // Takes over what the device reports. False: with more memory the step is to be run again.
  Result<bool> takeResult(Frame& frame, const FrameNode& node, const hal::ExecutionResult& result);
  // More memory for a growing value that has proved too small.
  Status enlarge(const Value& value, const Operand& operand, const Shape& needed);
  // OP_FAILED when a value that others will read has no elements: no request can hold it.
  Status checkNotEmpty(const Frame& frame, const FrameNode& node);

  // plan_control_flow.cc.
  Status runBranch(Frame& frame, const FrameNode& node);
  Status runLoop(Frame& frame, const FrameNode& node);
  // What the operation reads from input `first` on, with all that is known of the dimensions.
  static std::vector<Value> inputValues(const Frame& frame, const FrameNode& node, size_t first);
  Status runIterations(const Frame& frame, const FrameNode& node, std::vector<Value>* state);
  Result<bool> runCondition(const Frame& frame, const FrameNode& node,
                            const std::vector<Value>& state);
  // Replaces the loop's values by the results of one run of the body.
  Status runBody(const Frame& frame, const FrameNode& node, uint64_t iteration,
                 std::vector<Value>* state);
  // The bytes of a value that has been computed, or of a place of at least `bytes`.
  struct Bytes {
    uint8_t* data = nullptr;
    CpuAccess access;
    std::shared_ptr<DescribedMemory> described;  // to be written back to
    SharedMemoryPtr staging;
  };
  Result<Bytes> bytesAt(const Place& place, size_t bytes, bool writes) const;
  Result<bool> readCondition(const Place& place) const;
  // Brings a value of the loop to output `to` of its operation.
  Status copyOut(const Value& from, const Operand& operand, Frame& frame, uint32_t to);
  // OUTPUT_INSUFFICIENT_SIZE, and so reported, when an output of the model does not fit its place.
  Status copyBytes(const Place& from, const Place& to, const Operand& operand,
                   const Shape& dimensions, std::optional<uint32_t> output);

  static const Operand& operandOf(const Frame& frame, uint32_t value) {
    return frame.plan->subgraph->operands[frame.plan->values[value].operand];
  }
  // Of a value, as far as known.
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
  // Only the CPU device can run this: no step is to blame.
  bool needsWholeModel_ = false;
};

}  // namespace halyard::runtime
