// The area "random-graphs": each operation alone, and graphs of operations.
// Thread safety: as Suite.
// Ownership: as Suite.
#pragma once

#include "validation/kit/check.h"

namespace halyard::validation {

Result<std::vector<Check>> listRandomGraphs(const TargetSpec& target, const Plan& plan);

}  // namespace halyard::validation
