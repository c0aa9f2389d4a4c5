// Extracts models from models: a part of a subgraph for one device, or a single subgraph.
// Thread safety: pure functions.
// Ownership: results own their tables and share the pools.
//
// The extracted model has only the data that it uses. These are its operands, small constants in a
// new block, the pools and extensions that it refers to, and the subgraphs that it can reach.
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

// Returns `operations` of a subgraph, in an order in which they can run, as a model. Values that
// they read and do not write become inputs. Values that they write become outputs if the subgraph
// has them as outputs or another operation reads them. `consumers`: countConsumers of the subgraph.
// Operands are in the order of their first use. The model may have no inputs or outputs, but no
// device accepts such a model.
StepModel makeStepModel(const ValidModel& model, uint32_t subgraph,
                        std::span<const uint32_t> operations, std::span<const uint32_t> consumers);

// Returns a subgraph with all its inputs and outputs, in order, as a model. Leaves out data that no
// operation uses. Returns `model` itself if that is the main subgraph and nothing is left out.
ValidModel subgraphAsModel(const ValidModel& model, uint32_t subgraph);

}  // namespace halyard::runtime
