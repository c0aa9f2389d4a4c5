// Dumps of a model for readers: as text and as a Graphviz graph.
// Thread safety: pure functions.
// Ownership: none.
#pragma once

#include <span>
#include <string>

#include "halyard/driver/model.h"

namespace halyard {

// Returns one line per operand and operation of every subgraph. `names`: names of the main
// subgraph's operands by index, or empty. The model need not be valid. The text marks references to
// things that do not exist.
std::string modelText(const Model& model, std::span<const std::string> names = {});
// Returns a Graphviz digraph. Operations are boxes, inputs and outputs are ovals, tensors are
// labelled edges, and referenced subgraphs are clusters. The boxes give the number of constants.
// With `drawConstants`, each constant is an oval of its own, which is readable for small models
// only.
std::string modelGraphviz(const Model& model, std::span<const std::string> names = {},
                          bool drawConstants = false);

}  // namespace halyard
