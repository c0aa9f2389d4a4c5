// What commands do to measure a model: devices by name, and executions with random inputs.
// Thread safety: pure functions, but for what they do with a session. Ownership: none.
#pragma once

#include <android/NeuralNetworks.h>

#include <span>
#include <string>
#include <vector>

#include "client/session.h"
#include "halyard/driver/status.h"
#include "import/tflite/importer.h"

namespace halyard::measure {

// The devices that the names mean, by kDeviceRule (device_choice.h).
Result<std::vector<const ANeuralNetworksDevice*>> devicesOf(const std::vector<std::string>& wanted);

// How a model is imported for such devices, or where there are none for all of the process: with
// operations of kTfliteExtension as far as they offer it.
Result<import::ImportOptions> importOptionsFor(
    std::span<const ANeuralNetworksDevice* const> devices);

// Executes the session's model so many times, with the same random inputs each time.
Status runOften(const client::Session& session, const import::ImportedModel& imported,
                unsigned runs);

}  // namespace halyard::measure
