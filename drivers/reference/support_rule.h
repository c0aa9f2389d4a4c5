// Applies a SupportRule to a model.
// Thread safety: pure functions.
// Ownership: values.
#pragma once

#include <vector>

#include "halyard/driver/model.h"
#include "personality.h"

namespace halyard::drivers {

// One bool for each operation of the main subgraph. The model must be valid, without endless
// nesting.
std::vector<bool> allowedOperations(const SupportRule& rule, const Model& model);

}  // namespace halyard::drivers
