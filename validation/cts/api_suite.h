// The area "api": the driver as applications meet it, through the public C API.
// Thread safety: pure function. Ownership: none.
#pragma once

#include "validation/kit/check.h"

namespace halyard::validation {

Result<std::vector<Check>> listApi(const TargetSpec& target, const Plan& plan);

}  // namespace halyard::validation
