// How often a model's best classes are right.
// Thread safety: none; one measurement at a time. Ownership: results own their data.
#pragma once

#include <nlohmann/json.hpp>

#include "client/session.h"
#include "halyard/driver/status.h"
#include "import/tflite/importer.h"
#include "measure/model_figures.h"

namespace halyard::measure {

// {"data", "images", "top_1", "top_5"} for the pictures of options.data, or of Fashion-MNIST where
// it is installed and the model is for it; null otherwise, and for models that do not take one
// picture and give scores. Pictures become inputs as `halyard run` makes them. BAD_DATA when a
// given data set cannot be used with the model.
Result<nlohmann::json> measureAccuracy(const import::ImportedModel& imported,
                                       const client::Session& session, const BenchOptions& options);

}  // namespace halyard::measure
