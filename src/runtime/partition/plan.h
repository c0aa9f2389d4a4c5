// Plan: the decisions of a compilation: the device of each operation, and the order.
// Thread safety: immutable once made.
// Ownership: owns its tables and the models of its steps, shares their prepared models; devices
// must outlive it.
//
// A plan is a sequence of nodes. A Compute node gives a part of a subgraph to a device, as a
// separate model. The runtime runs an IF or WHILE that no device supports as a whole, and has a
// sequence for each of its subgraphs. The indices of a part's operands are those of its subgraph.
// Values pass between subgraphs only through the inputs and outputs of IF and WHILE.
#pragma once

#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "halyard/driver/device.h"
#include "halyard/driver/valid_model.h"
#include "runtime/device/device_manager.h"
#include "runtime/partition/cache_record.h"

namespace halyard::runtime {

// A prediction or a measurement, in nanoseconds.
struct Cost {
  double compute = 0;   // on the device
  double boundary = 0;  // cost of reaching it, both ways: wake-ups, bytes that cross
  double total() const { return compute + boundary; }
};

// Selects a subgraph of a model.
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
  // For each input and output of `model`, the corresponding operand of the subgraph. The subgraph's
  // own inputs (outputs) come first, then temporaries. Among the inputs, the subgraph's outputs
  // that earlier steps have computed come last.
  std::vector<uint32_t> inputs;
  std::vector<uint32_t> outputs;
  Cost predicted;  // none if the only candidate has the whole model: Report computes it on request
  std::shared_ptr<hal::PreparedModel> prepared;  // null until the compilation has prepared it
  CacheRecord cache;                             // cache use of that preparation
};

struct PlanNode;
using PlanSequence = std::vector<PlanNode>;

// An index into Plan::steps.
struct ComputeNode {
  uint32_t step = 0;
};
// An IF or WHILE of `subgraph`. Its operation there describes all its operands.
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
  std::vector<ComputeStep> steps;  // in the order of the sequence
  PlanSequence sequence;           // of the main subgraph

  // By the rules of the operations, every execution ends with this error. Such a plan has no steps
  // and uses no device. OK in all other plans.
  Status whyNever;

  // The plan has one step with the whole model. Executions go directly to its prepared model.
  bool simple = false;
  // A step gives a value of unknown size to another.
  bool hasDynamicTemporaries = false;
};

}  // namespace halyard::runtime
