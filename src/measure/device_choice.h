// Finds the devices that a user names, and how models are imported for them.
// Thread safety: pure functions. Ownership: none.
#pragma once

#include <android/NeuralNetworks.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halyard/driver/status.h"
#include "import/tflite/importer.h"

namespace halyard::measure {

// The text of the rule for --help.
inline constexpr std::string_view kDeviceRule =
    "a device's name; else the end of the name halyard-D; else cpu for nnapi-reference, the\n"
    "runtime's own CPU device; else the end, after a '-', of one name only (see halyard devices)";

// The index in `names` of the device that `wanted` names by the rule above. BAD_DATA with the list
// of names when no device fits, or more than one.
Result<size_t> chooseDevice(std::span<const std::string> names, std::string_view wanted);

// The devices that the names mean by kDeviceRule.
Result<std::vector<const ANeuralNetworksDevice*>> devicesOf(const std::vector<std::string>& wanted);

// The import options for these devices, or for all devices if the list is empty. Operations of
// kTfliteExtension are preferred if all devices support the extension. They are used only where
// needed if some devices support it.
Result<import::ImportOptions> importOptionsFor(
    std::span<const ANeuralNetworksDevice* const> devices);

}  // namespace halyard::measure
