// The area "api": the driver as applications use it, through the public C API.
// Thread safety: pure function.
// Ownership: values.
#pragma once

#include "validation/kit/check.h"

namespace halyard::validation {

Result<std::vector<Check>> listApi(const TargetSpec& target, const Plan& plan);

}  // namespace halyard::validation
