// IF and WHILE for random graphs: conditions, and models for both ways and for the rounds.
// Thread safety: none. Ownership: as GraphBuilder.
#pragma once

#include <vector>

#include "validation/random_graphs/choices.h"
#include "validation/random_graphs/graph_builder.h"

namespace halyard::random_graphs {

// One more IF or WHILE, as `choice` says; false, and nothing has changed, when it came to no use.
// `inner`: of what its models consist.
bool placeControlFlow(GraphBuilder& builder, const Choice& choice,
                      const std::vector<Choice>& inner);

}  // namespace halyard::random_graphs
