#include "measure/model_runs.h"

#include <halyard/halyard.h>

#include "measure/run_inputs.h"

namespace halyard::measure {

Status runOften(const client::Session& session, const import::ImportedModel& imported,
                unsigned runs) {
  InputOptions random;
  random.randomSeed = 1;
  HALYARD_ASSIGN_OR_RETURN(const PreparedInputs prepared, prepareInputs(imported.inputs, random));
  std::vector<client::Input> inputs;
  for (const PreparedInput& input : prepared.inputs) {
    inputs.push_back({input.bytes, input.dimensions, false});
  }
  for (unsigned i = 0; i < runs; ++i) {
    halyard_traceBegin(HALYARD_PHASE_EXECUTION, "execution");
    const Status status = session.execute(inputs).status();
    halyard_traceEnd();
    HALYARD_RETURN_IF_ERROR(status, "execution {}", i + 1);
  }
  return okStatus();
}

}  // namespace halyard::measure
