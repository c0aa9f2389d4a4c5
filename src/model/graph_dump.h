// The drawing of a model that verbose logging writes: NNAPI's own form of it, line by line.
// Thread safety: pure functions. Ownership: results own their data.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "halyard/driver/model.h"

namespace halyard {

// A Graphviz digraph of the main subgraph after a line "// NAME": operands as nodes d0, d1, ...,
// operations as boxes n0, n1, ...; two more lines say how many subgraphs were left out. The model
// need not be valid. `halyard graph` draws more (model/dump.h).
std::vector<std::string> graphDump(const Model& model, std::string_view name);

}  // namespace halyard
