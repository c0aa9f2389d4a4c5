// SupportRule applied to a model.
// Thread safety: pure functions. Ownership: none.
#pragma once

#include <vector>

#include "halyard/driver/model.h"
#include "personality.h"

namespace halyard::drivers {

// One bool per operation of the main subgraph of a valid model that does not nest without end.
std::vector<bool> allowedOperations(const SupportRule& rule, const Model& model);

}  // namespace halyard::drivers
