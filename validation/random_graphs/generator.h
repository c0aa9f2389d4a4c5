// The generator of random graphs: models that are valid by construction, with inputs and results.
// Thread safety: a pure function that starts no threads.
// Ownership: results own their data.
#pragma once

#include <cstdint>
#include <vector>

#include "conformance/vectors.h"
#include "halyard/driver/status.h"
#include "validation/random_graphs/choices.h"

namespace halyard::random_graphs {

struct GraphOptions {
  uint64_t seed = 1;
  size_t operations = 1;  // an approximate number; at least one
  std::vector<Choice> choices;
};

// The graph of a seed, the same for the same choices. Inputs and operations are chosen so that
// results are meaningful: they are finite and not too large. Small errors on the way, as devices
// make them, stay small. The outputs contain the results of the reference kernels. OP_FAILED when
// no operation could be placed.
Result<conformance::VectorCase> generateGraph(const GraphOptions& options);

// The number of operations for the seed's graph, at most `most`. Some graphs have one operation,
// whose criteria are the strictest; some are small, and some are large.
size_t operationsFor(uint64_t seed, size_t most);

}  // namespace halyard::random_graphs
