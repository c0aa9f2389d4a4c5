// Pauses in place of the work of a slow device.
// Thread safety: pure functions.
// Ownership: values.
#pragma once

#include <optional>
#include <stop_token>

#include "halyard/driver/hal_types.h"
#include "personality.h"

namespace halyard::drivers {

// Waits for `time`. A deadline (MISSED_DEADLINE_TRANSIENT) or the cancellation (OP_FAILED) ends the
// wait early.
Status pauseFor(Milliseconds time, const std::optional<hal::TimePoint>& deadline,
                std::stop_token cancel);

}  // namespace halyard::drivers
