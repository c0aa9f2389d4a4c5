// Applies a SupportRule to a model.
// Thread safety: pure functions.
// Ownership: values.
#pragma once

#include "halyard/driver/device.h"
#include "halyard/driver/model.h"
#include "personality.h"

namespace halyard::drivers {

// Removes the operations of the main subgraph that the rule does not allow from `supported`, and
// adds the reasons. The model must be valid, without endless nesting.
void restrict(const SupportRule& rule, const Model& model, hal::SupportedOperations& supported);

}  // namespace halyard::drivers
