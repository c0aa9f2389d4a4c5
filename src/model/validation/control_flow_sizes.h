// Finds control flow that only a runtime can run: IF and WHILE with boundary values of unknown
// size.
// Thread safety: pure functions.
// Ownership: none.
//
// The runtime gives drivers only control flow with operands of known size. This applies to the
// operation itself and to the inputs and outputs of its subgraphs. Drivers refuse any other (spec
// of the runtime, 5.2, and of NN HAL, 5).
#pragma once

#include <string>

#include "halyard/driver/model.h"

namespace halyard {

// Describes the first operand of unknown size of a valid IF or WHILE of `subgraph`: "input 3 is
// TENSOR_FLOAT32[?], of unknown size". Empty for known sizes and for all other operations.
std::string unknownSizeAtBoundary(const Model& model, const Subgraph& subgraph,
                                  const Operation& operation);

// Returns BAD_DATA with the operation's name if any subgraph of a valid model has such an
// operation.
Status checkBoundarySizes(const Model& model);

}  // namespace halyard
