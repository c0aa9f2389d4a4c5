// The area "conformance": vectors, each file in each way to run it.
// Thread safety and ownership: as Suite.
#pragma once

#include "validation/kit/check.h"

namespace halyard::validation {

Result<std::vector<Check>> listConformance(const TargetSpec& target, const Plan& plan);

}  // namespace halyard::validation
