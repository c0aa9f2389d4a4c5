// Checks the inputs and outputs of a model that was loaded from a cache. Other parts of such a
// model are not known.
// Thread safety: pure functions. Ownership: none.
#pragma once

#include "halyard/driver/model.h"
#include "halyard/driver/status.h"

namespace halyard::hal {

// Checks the parts of a model on which the checks of requests depend. Each input and output must
// exist, appear once, and have a valid type and valid dimensions.
// `interface` need not be a whole model: operations, constants and other operands are not checked.
// BAD_DATA with the reason.
Status checkInterface(const Model& interface);

// Whether both models accept the same requests. The inputs and outputs must agree in number, type,
// dimensions, scale and zero point. OP_FAILED names the first difference. Both models must have
// passed checkInterface().
Status checkSameInterface(const Model& expected, const Model& found);

}  // namespace halyard::hal
