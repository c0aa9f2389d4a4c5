// Writes nodes of an interpreter as a file in memory, which the importer reads.
// Thread safety: pure functions. Ownership: a written graph refers to the constants of the
// interpreter, which exist as long as the interpreter.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "halyard/driver/shared_memory.h"
#include "import/tflite/importer.h"
#include "tflite_delegate/abi.h"
#include "tflite_delegate/live_node.h"
#include "tflite_delegate/mapped_model.h"

namespace halyard::tflite {

// Nodes that the delegate computes together, in the order of execution.
struct LiveGraph {
  std::vector<LiveNode> nodes;
  std::vector<int32_t> inputs;   // tensors; neither constants nor variables
  std::vector<int32_t> outputs;  // tensors
};

// A graph after its import.
struct ImportedGraph {
  import::ImportedModel model;
  std::vector<int32_t> states;  // the tensors of model.states
};

// Whether nothing can write the tensor's value.
bool isConstant(const LiteTensor& tensor);

// Those of the tensors whose values others give the delegate: neither constants nor variables, nor
// lists without elements.
std::vector<int32_t> realInputs(const LiteContext& context, std::span<const int32_t> tensors);
// Those of the tensors that the delegate computes: no lists without elements.
std::vector<int32_t> realOutputs(const LiteContext& context, std::span<const int32_t> tensors);

// Imports the graph with the shapes that its tensors have now. `model`, if it has mapped a file,
// is the place of constants that need no copy. The options or the interpreter may allow float16.
Result<ImportedGraph> importGraph(const LiteContext& context, const LiveGraph& graph,
                                  const MappedModel& model, const import::ImportOptions& options);

}  // namespace halyard::tflite
