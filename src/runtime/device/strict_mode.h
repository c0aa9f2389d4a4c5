// Strict mode: HALYARD_REQUIRE_DEVICE=name[,name] demands that these devices compute everything, so
// that what would silently go elsewhere is an error.
// Thread safety: pure functions over the environment. Ownership: none.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "halyard/driver/status.h"

namespace halyard::runtime {

// The names in HALYARD_REQUIRE_DEVICE; empty: not in strict mode.
std::vector<std::string> requiredDevices();
// Whether the device may compute anything.
bool strictModeAllows(std::string_view device);
// The error for an operation, or whatever else `what` names, that a device other than the required
// ones would have to compute. `device` may be empty: there is none at all. OP_FAILED.
Status strictRefusal(std::string_view what, std::string_view device, std::string_view reason);

}  // namespace halyard::runtime
