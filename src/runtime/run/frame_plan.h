// FramePlan: the values that the nodes of a sequence pass to each other.
// It also holds the places of the values that belong to a run, as far as they are known before the
// run.
// Ownership: owns its tables and refers to the model. Thread safety: immutable after construction.
//
// A frame is one run of the sequence of one subgraph. A frame places its values of known size in
// the block of the run (RunMemory). Their offsets follow from the lifetimes of the values. The
// devices report the size of the other values. Each of these has memory of its own, which can grow.
// An IF or WHILE runs other subgraphs. Their frames lie inside the frame of the subgraph that
// contains the operation, and exist only while the operation runs.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "hal/checks/operand_sizes.h"
#include "halyard/driver/model.h"
#include "runtime/partition/plan.h"

namespace halyard::runtime {

// A piece of the memory of a run.
struct TemporarySlot {
  bool growing = false;
  uint32_t index = 0;   // index among the growing values, if `growing`
  uint32_t offset = 0;  // in bytes from the base of the frame, if not `growing`
  uint32_t bytes = 0;   // size of the value without padding; 0: unknown
};

// A value that stays on a device with memory of its own: only steps on that device use it. Its slot
// in the block is for runs in which another device computes one of these steps.
struct DeviceValue {
  // The model of a step has it as this output or input.
  struct Use {
    uint32_t step = 0;
    uint32_t index = 0;
  };
  uint32_t operand = 0;  // index, of the main subgraph
  Use writer;
  std::vector<Use> readers;
};

struct FrameValue {
  static constexpr uint32_t kNotOnDevice = UINT32_MAX;
  enum class Kind : uint8_t { INPUT, OUTPUT, TEMPORARY, CONSTANT, OMITTED };
  Kind kind = Kind::TEMPORARY;
  uint32_t operand = 0;   // index in the subgraph
  uint32_t position = 0;  // INPUT, OUTPUT: position in the list of the subgraph
  // For a TEMPORARY. An OUTPUT of the model that other nodes read has a growing slot. A run uses
  // that slot when the memory for the output is not readable.
  TemporarySlot slot;
  bool fixed = false;                // the model states its size
  bool isRead = false;               // by a node of the frame, or outside the frame
  uint32_t onDevice = kNotOnDevice;  // index in RunLayout::onDevice
};

struct FramePlan;

struct FrameNode {
  enum class Kind : uint8_t { COMPUTE, BRANCH, LOOP };
  Kind kind = Kind::COMPUTE;
  uint32_t step = 0;       // COMPUTE: index of the step in the plan
  uint32_t operation = 0;  // BRANCH, LOOP: index of the operation in the subgraph
  // Indices into FramePlan::values. COMPUTE: the inputs and outputs of the model of the step.
  // BRANCH: the condition, then the inputs of the branches. LOOP: the inputs of condition and body.
  std::vector<uint32_t> inputs;
  std::vector<uint32_t> outputs;
  std::unique_ptr<FramePlan> first;   // BRANCH: then; LOOP: condition
  std::unique_ptr<FramePlan> second;  // BRANCH: else; LOOP: body
  uint32_t base = 0;                  // of the slots below, in bytes from the base of this frame
  uint32_t framesBase = 0;            // of `first` and `second`, in bytes from this frame's base
  TemporarySlot conditionSlot;        // LOOP: output of the condition
  // LOOP: two slots for each output of the body. An iteration reads one of them and writes the
  // other one.
  std::vector<std::array<TemporarySlot, 2>> loopSlots;
};

struct FramePlan {
  const Subgraph* subgraph = nullptr;
  std::vector<FrameValue> values;
  std::vector<FrameNode> nodes;
  uint32_t bytes = 0;
};

// The frames of a plan.
struct RunLayout {
  // Alignment of the values in bytes. The space of each value is a multiple of it.
  static constexpr uint32_t kAlignment = 64;

  // `plan` must be a plan for `model`. Its sequences must write each value before they read it.
  // Both must outlive the layout.
  static RunLayout make(const Model& model, const Plan& plan, const hal::OperandSizes& sizes);

  FramePlan main;
  std::vector<DeviceValue> onDevice;  // of the main frame
  uint32_t growing = 0;               // number of growing values
  bool isChain = false;               // a sequence of COMPUTE nodes with values of known size only
};

}  // namespace halyard::runtime
