// Measures how often the classes with the best scores are right.
// Thread safety: one measurement at a time. Ownership: results own their data.
#pragma once

#include <nlohmann/json.hpp>

#include "client/session.h"
#include "halyard/driver/status.h"
#include "import/tflite/importer.h"
#include "measure/model_figures.h"

namespace halyard::measure {

// Returns {"data", "images", "top_1", "top_5"}. The pictures are those of options.data, or of
// Fashion-MNIST if it is installed and the model fits it.
// Null without pictures, and for a model that is not a classifier with one picture as its input.
// Pictures become inputs in the same way as in `halyard run`.
// BAD_DATA when options.data cannot be used with the model.
Result<nlohmann::json> measureAccuracy(const import::ImportedModel& imported,
                                       const client::Session& session, const BenchOptions& options);

}  // namespace halyard::measure
