// IF and WHILE for random graphs: conditions, and the models of branches and rounds.
// Thread safety: one thread.
// Ownership: as GraphBuilder.
#pragma once

#include <vector>

#include "validation/random_graphs/choices.h"
#include "validation/random_graphs/graph_builder.h"

namespace halyard::random_graphs {

// Adds an IF or WHILE, as `choice` says. False, without any change, when no useful one was found.
// `inner`: the choices for operations of its models.
bool placeControlFlow(GraphBuilder& builder, const Choice& choice,
                      const std::vector<Choice>& inner);

}  // namespace halyard::random_graphs
