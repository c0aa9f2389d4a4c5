// What only a runtime can run: IF and WHILE with values of unknown size on their boundaries.
// Thread safety: pure functions. Ownership: none.
//
// Where there is a choice, drivers are given control flow only with operands of known size, for the
// operation itself and for the inputs and outputs of its subgraphs (spec of the runtime, 5.2).
#pragma once

#include <string>

#include "halyard/driver/model.h"

namespace halyard {

// The first such operand of a valid IF or WHILE of `subgraph`, in words: "input 3 is
// TENSOR_FLOAT32[?], of unknown size". Empty when there is none, and for all other operations.
std::string unknownSizeAtBoundary(const Model& model, const Subgraph& subgraph,
                                  const Operation& operation);

}  // namespace halyard
