// Makes a device's answer about its operations fit for reports. The device may be hostile.
// Thread safety: pure functions.
// Ownership: none.
#pragma once

#include "halyard/driver/device.h"

namespace halyard::hal {

// The bytes of all reasons of one answer. Later reasons are left out.
inline constexpr size_t kMaxReasonsBytes = size_t{1} << 20;

// Each reason becomes one printable line of at most kMaxReasonBytes. A supported operation has no
// reason, and a refused one has no cost. A cost that is no positive finite number is left out.
void normalise(SupportedOperations& operations);

}  // namespace halyard::hal
