// The inputs and outputs of a model that came from a cache: all that is known of it.
// Thread safety: pure functions. Ownership: none.
#pragma once

#include "halyard/driver/model.h"
#include "halyard/driver/status.h"

namespace halyard::hal {

// What requests can be checked against: inputs and outputs that are there, each once, with types
// and dimensions that operands can have. `interface` need not be a whole model: its operations,
// constants and other operands are not looked at. BAD_DATA says what is not so.
Status checkInterface(const Model& interface);

// Whether both take the same requests: inputs and outputs in the same number, of the same types,
// dimensions and quantisation. OP_FAILED names the first that differs. Both have been checked.
Status checkSameInterface(const Model& expected, const Model& found);

}  // namespace halyard::hal
