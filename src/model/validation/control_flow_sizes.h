// What only a runtime can run: IF and WHILE with values of unknown size on their boundaries.
// Thread safety: pure functions. Ownership: none.
//
// Drivers are given control flow only with operands of known size, for the operation itself and for
// the inputs and outputs of its subgraphs, and refuse any other (spec of the runtime, 5.2, and of
// NN HAL, 5).
#pragma once

#include <string>

#include "halyard/driver/model.h"

namespace halyard {

// The first such operand of a valid IF or WHILE of `subgraph`, in words: "input 3 is
// TENSOR_FLOAT32[?], of unknown size". Empty when there is none, and for all other operations.
std::string unknownSizeAtBoundary(const Model& model, const Subgraph& subgraph,
                                  const Operation& operation);

// BAD_DATA for a valid model that has such an operation in any of its subgraphs, with its name.
Status checkBoundarySizes(const Model& model);

}  // namespace halyard
