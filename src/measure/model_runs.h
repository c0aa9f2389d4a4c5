// Executions of models with random inputs, for commands that measure.
// Thread safety: pure functions, except for their use of a session. Ownership: none.
#pragma once

#include "client/session.h"
#include "halyard/driver/status.h"
#include "import/tflite/importer.h"

namespace halyard::measure {

// Executes the model of the session `runs` times, each time with the same random inputs.
Status runOften(const client::Session& session, const import::ImportedModel& imported,
                unsigned runs);

}  // namespace halyard::measure
