// FramePlan: the values that the nodes of a sequence hand to each other, and the places of those
// that are a run's own, as far as they are known before any run.
// Thread safety: immutable once made. Ownership: owns its tables; refers to the model.
//
// A frame is one run of one subgraph's sequence. Values of known size that a frame makes lie in the
// block of the run (RunMemory), placed by the times at which they are needed; those whose size only
// the devices find out have memory of their own, which can grow. The frames of a subgraph that is
// run by an IF or WHILE lie inside the frame of that operation's subgraph, and are there only while
// the operation runs.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "hal/checks/operand_sizes.h"
#include "halyard/driver/model.h"
#include "runtime/partition/plan.h"

namespace halyard::runtime {

// A piece of a run's own memory.
struct TemporarySlot {
  bool growing = false;
  uint32_t index = 0;   // which of the growing ones
  uint32_t offset = 0;  // otherwise: in bytes from the frame's base on
  uint32_t bytes = 0;   // what the value has, without padding
};

struct FrameValue {
  enum class Kind : uint8_t { INPUT, OUTPUT, TEMPORARY, CONSTANT, OMITTED };
  Kind kind = Kind::TEMPORARY;
  uint32_t operand = 0;   // of the subgraph
  uint32_t position = 0;  // INPUT, OUTPUT: in the subgraph's list
  // TEMPORARY; and a growing one for an OUTPUT of the model that other nodes read, for runs whose
  // memory for it may not be read.
  TemporarySlot slot;
  bool fixed = false;   // its size is known from the model
  bool isRead = false;  // by a node of the frame, or outside
};

struct FramePlan;

struct FrameNode {
  enum class Kind : uint8_t { COMPUTE, BRANCH, LOOP };
  Kind kind = Kind::COMPUTE;
  uint32_t step = 0;       // COMPUTE: of the plan
  uint32_t operation = 0;  // BRANCH, LOOP: of the subgraph
  // Indices into FramePlan::values. COMPUTE: of the inputs and outputs of the step's model. BRANCH:
  // the condition, then the inputs of the branches. LOOP: the inputs of condition and body.
  std::vector<uint32_t> inputs;
  std::vector<uint32_t> outputs;
  std::unique_ptr<FramePlan> first;   // BRANCH: then; LOOP: condition
  std::unique_ptr<FramePlan> second;  // BRANCH: else; LOOP: body
  uint32_t base = 0;                  // of what follows, from this frame's base on
  uint32_t framesBase = 0;            // of the frames `first` and `second`, likewise
  TemporarySlot conditionSlot;        // LOOP: the condition's output
  // LOOP: by output of the body: what one iteration has written is read by the next one, which
  // writes the other.
  std::vector<std::array<TemporarySlot, 2>> loopSlots;
};

struct FramePlan {
  const Subgraph* subgraph = nullptr;
  std::vector<FrameValue> values;
  std::vector<FrameNode> nodes;
  uint32_t bytes = 0;
};

// The frames of a whole plan.
struct RunLayout {
  // Values begin at, and have room for, multiples of this.
  static constexpr uint32_t kAlignment = 64;

  // `plan` must be one for `model`, with sequences whose values are written before they are read.
  // Both must outlive the layout.
  static RunLayout make(const Model& model, const Plan& plan, const hal::OperandSizes& sizes);

  FramePlan main;
  uint32_t growing = 0;  // how many values of unknown size there are
  bool isChain = false;  // computations one after the other, of values of known size
};

}  // namespace halyard::runtime
