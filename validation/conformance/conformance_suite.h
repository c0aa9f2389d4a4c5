// The area "conformance": runs each file of vectors in each way.
// Thread safety: as Suite.
// Ownership: as Suite.
#pragma once

#include "validation/kit/check.h"

namespace halyard::validation {

Result<std::vector<Check>> listConformance(const TargetSpec& target, const Plan& plan);

}  // namespace halyard::validation
