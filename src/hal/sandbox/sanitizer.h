// Whether this is a build with a sanitizer, which needs more of the system than a driver.
// Thread safety: constant. Ownership: none.
#pragma once

#include "base/sanitized.h"

namespace halyard::hal {

#ifdef HALYARD_SANITIZED
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace halyard::hal
