// The area "hostile": the driver survives its clients.
// Thread safety: pure function. Ownership: none.
#pragma once

#include "validation/kit/check.h"

namespace halyard::validation {

// Sessions `first` to `first` + kHostileSessions - 1 of a seed.
inline constexpr uint64_t kHostileSessions = 25;
Check hostileCheck(const TargetSpec& target, uint64_t seed, uint64_t first);

Result<std::vector<Check>> listHostile(const TargetSpec& target, const Plan& plan);

}  // namespace halyard::validation
