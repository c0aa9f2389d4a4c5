// Loads the models that are measured.
// Thread safety: pure functions. Ownership: results own their data.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "halyard/driver/status.h"
#include "import/tflite/importer.h"

namespace halyard::measure {

// `model` is a .tflite file. If there is no such file, it is the name of a reference workload
// (src/workloads).
Result<std::shared_ptr<const import::ImportedModel>> loadBenchModel(
    const std::string& model, const import::ImportOptions& options = {});

// The name of a model in results, for example "mobilenet" for "models/mobilenet.tflite".
std::string benchModelName(const std::string& model);

// The models that are measured if the user names no model.
std::vector<std::string> defaultBenchModels();

// Random bytes for all inputs, the same in each call.
Result<std::vector<std::vector<uint8_t>>> randomInputs(const import::ImportedModel& model);

}  // namespace halyard::measure
