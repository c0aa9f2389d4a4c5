// The drawing of a model for verbose logging, in NNAPI's own format, line by line.
// Thread safety: pure functions.
// Ownership: results own their data.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "halyard/driver/model.h"

namespace halyard {

// Returns a Graphviz digraph of the main subgraph after a line "// NAME". Operands are nodes d0,
// d1, ...; operations are boxes n0, n1, .... Two more lines give the number of subgraphs left out.
// The model need not be valid. `halyard graph` draws more (model/dump.h).
std::vector<std::string> graphDump(const Model& model, std::string_view name);

}  // namespace halyard
