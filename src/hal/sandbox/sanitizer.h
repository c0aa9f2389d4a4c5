// Tells whether the build has a sanitizer, which needs more rights than a driver.
// Thread safety: constant.
// Ownership: none.
#pragma once

#include "base/sanitized.h"

namespace halyard::hal {

#ifdef HALYARD_SANITIZED
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace halyard::hal
