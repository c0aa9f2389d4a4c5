// The area "models": real models on real data. Compares accuracy and speed with the CPU device.
// Thread safety: pure function.
// Ownership: values.
#pragma once

#include "validation/kit/check.h"

namespace halyard::validation {

Result<std::vector<Check>> listModels(const TargetSpec& target, const Plan& plan);

}  // namespace halyard::validation
