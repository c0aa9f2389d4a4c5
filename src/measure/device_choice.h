// Finds the device that a user names.
// Thread safety: pure functions. Ownership: none.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "halyard/driver/status.h"

namespace halyard::measure {

// The text of the rule for --help.
inline constexpr std::string_view kDeviceRule =
    "a device's name; else the end of the name halyard-D; else cpu for nnapi-reference, the\n"
    "runtime's own CPU device; else the end, after a '-', of one name only (see halyard devices)";

// The index in `names` of the device that `wanted` names by the rule above. BAD_DATA with the list
// of names when no device fits, or more than one.
Result<size_t> chooseDevice(std::span<const std::string> names, std::string_view wanted);

}  // namespace halyard::measure
