// Where the models come from that are measured.
// Thread safety: pure functions. Ownership: results own their data.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "halyard/driver/status.h"
#include "import/tflite/importer.h"

namespace halyard::measure {

// A .tflite file, or the name of a reference workload (src/workloads) where there is no such
// file.
Result<std::shared_ptr<const import::ImportedModel>> loadBenchModel(
    const std::string& model, const import::ImportOptions& options = {});

// "mobilenet" for "models/mobilenet.tflite".
std::string benchModelName(const std::string& model);

// What is measured when no model is named.
std::vector<std::string> defaultBenchModels();

// Random bytes for all inputs, the same each time.
Result<std::vector<std::vector<uint8_t>>> randomInputs(const import::ImportedModel& model);

}  // namespace halyard::measure
