// The area "models": real models on real data, as right as on the CPU device, and how fast.
// Thread safety: pure function. Ownership: none.
#pragma once

#include "validation/kit/check.h"

namespace halyard::validation {

Result<std::vector<Check>> listModels(const TargetSpec& target, const Plan& plan);

}  // namespace halyard::validation
