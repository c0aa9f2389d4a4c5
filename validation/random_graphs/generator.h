// The generator of random graphs: models that are valid by construction, with inputs and results.
// Thread safety: a pure function that starts no threads. Ownership: results own their data.
#pragma once

#include <cstdint>
#include <vector>

#include "conformance/vectors.h"
#include "halyard/driver/status.h"
#include "validation/random_graphs/choices.h"

namespace halyard::random_graphs {

struct GraphOptions {
  uint64_t seed = 1;
  size_t operations = 1;  // about so many; at least one
  std::vector<Choice> choices;
};

// The graph of a seed, the same for the same choices. Its inputs are chosen, and
// its operations taken or not, such that results mean something: they are finite, not too large,
// and small errors in between, as devices make them, stay small. The outputs hold what the
// reference kernels compute. OP_FAILED when no operation could be placed at all.
Result<conformance::VectorCase> generateGraph(const GraphOptions& options);

// The number of operations for the seed's graph, of at most `most`: some graphs are of one
// operation, whose criteria are the strictest, some small, some large.
size_t operationsFor(uint64_t seed, size_t most);

}  // namespace halyard::random_graphs
