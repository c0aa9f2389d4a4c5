// Strict mode: HALYARD_REQUIRE_DEVICE=name[,name] requires these devices to compute everything.
// Work that would silently go to another device is an error.
// Thread safety: pure functions over the environment.
// Ownership: none.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "halyard/driver/status.h"

namespace halyard::runtime {

// Returns the names in HALYARD_REQUIRE_DEVICE; empty: not in strict mode.
std::vector<std::string> requiredDevices();
// Returns whether the device may compute anything.
bool strictModeAllows(std::string_view device);
// Returns OP_FAILED for an operation, or other work that `what` names, that only another device
// could compute. `device` may be empty: no device can compute it.
Status strictRefusal(std::string_view what, std::string_view device, std::string_view reason);

}  // namespace halyard::runtime
