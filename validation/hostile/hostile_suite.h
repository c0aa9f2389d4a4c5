// The area "hostile": the driver survives clients that break the protocol.
// Thread safety: pure functions.
// Ownership: values.
#pragma once

#include "validation/kit/check.h"

namespace halyard::validation {

// Runs sessions `first` to `first` + kHostileSessions - 1 of `seed`.
inline constexpr uint64_t kHostileSessions = 25;
Check hostileCheck(const TargetSpec& target, uint64_t seed, uint64_t first);

Result<std::vector<Check>> listHostile(const TargetSpec& target, const Plan& plan);

}  // namespace halyard::validation
