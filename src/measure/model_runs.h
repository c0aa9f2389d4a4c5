// Support for commands that measure models: devices by name, and executions with random inputs.
// Thread safety: pure functions, except for their use of a session. Ownership: none.
#pragma once

#include <android/NeuralNetworks.h>

#include <span>
#include <string>
#include <vector>

#include "client/session.h"
#include "halyard/driver/status.h"
#include "import/tflite/importer.h"

namespace halyard::measure {

// The devices that the names mean by kDeviceRule (device_choice.h).
Result<std::vector<const ANeuralNetworksDevice*>> devicesOf(const std::vector<std::string>& wanted);

// The import options for these devices, or for all devices if the list is empty. Operations of
// kTfliteExtension are preferred if all devices support the extension. They are used only where
// needed if some devices support it.
Result<import::ImportOptions> importOptionsFor(
    std::span<const ANeuralNetworksDevice* const> devices);

// Executes the model of the session `runs` times, each time with the same random inputs.
Status runOften(const client::Session& session, const import::ImportedModel& imported,
                unsigned runs);

}  // namespace halyard::measure
