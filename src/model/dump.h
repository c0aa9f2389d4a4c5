// Dumps of a model for people: text and Graphviz.
// Thread safety: pure functions. Ownership: none.
#pragma once

#include <span>
#include <string>

#include "halyard/driver/model.h"

namespace halyard {

// One line per operand and operation of every subgraph. `names`: operand names of the main
// subgraph by index, or empty. The model need not be valid: whatever does not exist is named so.
std::string modelText(const Model& model, std::span<const std::string> names = {});
// A Graphviz digraph: operations as boxes, inputs and outputs as ovals, tensors as labelled edges,
// referenced subgraphs as clusters. Constants are counted in the boxes, or drawn as ovals of their
// own with `drawConstants` (readable for small models only).
std::string modelGraphviz(const Model& model, std::span<const std::string> names = {},
                          bool drawConstants = false);

}  // namespace halyard
