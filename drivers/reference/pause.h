// Pauses that stand for the work of a slow device.
// Thread safety: pure functions. Ownership: none.
#pragma once

#include <optional>
#include <stop_token>

#include "halyard/driver/hal_types.h"
#include "personality.h"

namespace halyard::drivers {

// As long as a slow device would take; a deadline (MISSED_DEADLINE_TRANSIENT) or the cancellation
// (OP_FAILED) ends it.
Status pauseFor(Milliseconds time, const std::optional<hal::TimePoint>& deadline,
                std::stop_token cancel);

}  // namespace halyard::drivers
