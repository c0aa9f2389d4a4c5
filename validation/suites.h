// The suites that `halyard validate` runs.
// Thread safety: constant.
// Ownership: static.
#pragma once

#include <span>

#include "validation/kit/check.h"

namespace halyard::validation {

// In the order of execution. A new area is a new line in suites.cc.
std::span<const Suite> allSuites();

}  // namespace halyard::validation
