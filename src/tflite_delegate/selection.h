// Decides which nodes of an interpreter the delegate computes, and why not the others.
// Thread safety: pure functions. Ownership: results own their data.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "halyard/driver/status.h"
#include "tflite_delegate/abi.h"
#include "tflite_delegate/compiled_graph.h"
#include "tflite_delegate/graph_writer.h"
#include "tflite_delegate/mapped_model.h"

namespace halyard::tflite {

// A node of the plan that stays with the interpreter.
struct RefusedNode {
  int32_t node = 0;
  std::string operatorName;
  std::string reason;
};

// Nodes that one kernel computes.
struct Partition {
  LiveGraph graph;
  std::unique_ptr<CompiledGraph> compiled;
};

struct Selection {
  std::vector<Partition> partitions;
  std::vector<RefusedNode> refused;  // in the order of the plan
  MappedModel model;
};

// Compiles the graph for the shapes that its tensors have now.
Result<std::unique_ptr<CompiledGraph>> compileGraph(const LiteContext& context,
                                                    const LiveGraph& graph,
                                                    const MappedModel& model,
                                                    const CompileSettings& settings);

// Examines all nodes of the context's plan and compiles those that the delegate takes. Call it in
// the delegate's `prepare`. BAD_DATA for an interpreter with other layouts. Nodes that cannot be
// converted or compiled are no error: they are among those refused.
Result<Selection> selectNodes(LiteContext* context, const CompileSettings& settings);

}  // namespace halyard::tflite
