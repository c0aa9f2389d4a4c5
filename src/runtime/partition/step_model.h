// Cuts models out of models: a part of a subgraph for one device, a subgraph for itself.
// Thread safety: pure functions. Ownership: results own their tables and share the pools.
//
// What is cut out has what it uses and nothing else: its operands, small constants packed anew, the
// pools and the extensions that it refers to, and the subgraphs that it can reach.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "halyard/driver/model.h"
#include "runtime/partition/plan.h"

namespace halyard::runtime {

struct StepModel {
  ValidModel model;
  // As ComputeStep::inputs and outputs.
  std::vector<uint32_t> inputs;
  std::vector<uint32_t> outputs;
};

// `operations` of a subgraph, in an order in which they can run, as a model. What they read and do
// not write becomes an input; what they write becomes an output if it is one of the subgraph or
// if another operation reads it. `consumers`: countConsumers of the subgraph. Operands stand in the
// order of their first use. A model without inputs or outputs is possible; no device takes it.
StepModel makeStepModel(const ValidModel& model, uint32_t subgraph, std::span<const uint32_t> operations,
                        std::span<const uint32_t> consumers);

// A subgraph with all its inputs and outputs, in their order, as a model. What no operation uses is
// left out. `model` itself if that is the main subgraph and there is nothing to leave out.
ValidModel subgraphAsModel(const ValidModel& model, uint32_t subgraph);

}  // namespace halyard::runtime
