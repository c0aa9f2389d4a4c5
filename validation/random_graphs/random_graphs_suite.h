// The area "random-graphs": each operation by itself, and graphs of them.
// Thread safety and ownership: as Suite.
#pragma once

#include "validation/kit/check.h"

namespace halyard::validation {

Result<std::vector<Check>> listRandomGraphs(const TargetSpec& target, const Plan& plan);

}  // namespace halyard::validation
