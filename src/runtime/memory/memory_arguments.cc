#include "runtime/memory/memory_arguments.h"

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

std::shared_ptr<DescribedMemory> MemoryArguments::find(uint32_t token) const {
  for (const std::vector<Argument>* list : {&inputs_, &outputs_}) {
    for (const Argument& argument : *list) {
      const std::shared_ptr<hal::Buffer> buffer = argument.memory->buffer();
      if (buffer != nullptr && buffer->token() == token) return argument.memory;
    }
  }
  return nullptr;
}

}  // namespace halyard::runtime
