// Plan: what a compilation has decided: which device computes which operations, in which order.
// Thread safety: immutable once made. Ownership: owns its tables and the models of its steps,
// shares their prepared models; devices must outlive it.
//
// A plan is a sequence of nodes. A Compute node hands a part of a subgraph to a device as a model
// of its own; IF and WHILE that no device takes as a whole are run by the runtime, which has a
// sequence for each of their subgraphs. A part's operands are named by their indices in the
// subgraph that it is part of; values cross from one subgraph to another only by the inputs and
// outputs of IF and WHILE.
#pragma once

#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "halyard/driver/device.h"
#include "halyard/driver/valid_model.h"
#include "runtime/partition/cache_record.h"
#include "runtime/device/device_manager.h"

namespace halyard::runtime {

// A prediction or a measurement, in nanoseconds.
struct Cost {
  double compute = 0;   // on the device
  double boundary = 0;  // to get there and back: waking it, bytes that cross
  double total() const { return compute + boundary; }
};

// Which subgraph of a model.
constexpr uint32_t kMainSubgraph = UINT32_MAX;  // else an index into Model::referenced
inline const Subgraph& subgraphAt(const Model& model, uint32_t index) {
  return index == kMainSubgraph ? model.main : model.referenced[index];
}

// A part of a subgraph on one device.
struct ComputeStep {
  explicit ComputeStep(ValidModel asModel) : model(std::move(asModel)) {}

  const Device* device = nullptr;
  uint32_t subgraph = kMainSubgraph;
  std::vector<uint32_t> operations;  // of the subgraph, in an order in which they can run
  ValidModel model;                  // the whole source model in a simple plan
  // For each input and output of `model`, the operand of the subgraph that it is. In this order:
  // those that are the subgraph's own inputs (outputs), then temporaries, then, of inputs, outputs
  // of the subgraph that an earlier step has computed.
  std::vector<uint32_t> inputs;
  std::vector<uint32_t> outputs;
  Cost predicted;  // none if the only candidate has the whole model: Report makes it up when asked
  std::shared_ptr<hal::PreparedModel> prepared;  // null until the compilation has prepared it
  CacheRecord cache;                             // of that preparation
};

struct PlanNode;
using PlanSequence = std::vector<PlanNode>;

// An index into Plan::steps.
struct ComputeNode {
  uint32_t step = 0;
};
// An IF or WHILE of `subgraph`: its operation there says all about its operands.
struct IfNode {
  uint32_t subgraph = kMainSubgraph;
  uint32_t operation = 0;
  PlanSequence thenSequence;
  PlanSequence elseSequence;
};
struct WhileNode {
  uint32_t subgraph = kMainSubgraph;
  uint32_t operation = 0;
  PlanSequence condition;
  PlanSequence body;
};
struct PlanNode {
  std::variant<ComputeNode, IfNode, WhileNode> what;
};

struct Plan {
  std::vector<ComputeStep> steps;  // in the order in which they appear in the sequence
  PlanSequence sequence;           // of the main subgraph

  // Every execution ends with this, by the rules of the operations themselves: there are no steps,
  // and no device is concerned. OK in all other plans.
  Status whyNever;

  // One step that is the whole model: executions go straight to its prepared model.
  bool simple = false;
  // A step hands a value of unknown size to another.
  bool hasDynamicTemporaries = false;
};

}  // namespace halyard::runtime
