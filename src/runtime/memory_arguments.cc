#include "runtime/memory_arguments.h"

namespace halyard::runtime {

Status MemoryArguments::begin(const DimensionsOf& inputDimensions) const {
  for (const Argument& input : inputs_) {
    Status status = input.memory->checkHolds(inputDimensions(input.index));
    if (status.ok()) continue;
    fail();
    status.annotate(fmt::format("input {}", input.index));
    return status;
  }
  return okStatus();
}

Status MemoryArguments::finish(bool success, const DimensionsOf& outputDimensions) const {
  if (!success) {
    fail();
    return okStatus();
  }
  for (const Argument& output : outputs_) {
    Status status = output.memory->setWritten(outputDimensions(output.index));
    if (status.ok()) continue;
    fail();
    status.annotate(fmt::format("output {}", output.index));
    return status;
  }
  return okStatus();
}

void MemoryArguments::fail() const {
  for (const Argument& output : outputs_) output.memory->setFailed();
}

}  // namespace halyard::runtime
